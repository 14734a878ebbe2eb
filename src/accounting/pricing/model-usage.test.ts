import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noUsage } from '../../protocols/metering/usage-facts.ts';
import { splitUsage } from './model-usage.ts';

const used = (inputTokens: number, outputTokens: number) => ({ ...noUsage, inputTokens, outputTokens });
const ownerOf = (model: string | null) => (model === null || model === 'own' ? 'own' : { dear: 'dear' }.dear);
const part = (model: string | null, isInside: boolean, input: number, output: number) => ({
  model,
  isInside,
  usage: used(input, output),
});

describe('the usage of several models in one call', () => {
  it('is that of the totals where no other model ran', () => {
    const parts = [part('own', true, 7, 7), part(null, true, 3, 3)];
    assert.deepEqual(splitUsage(used(5, 6), parts, ownerOf), { own: used(5, 6), inner: [] });
  });

  it('comes on top where it is beside the totals', () => {
    const parts = [part('own', true, 10, 20), part('dear', false, 500, 60), part('dear', false, 1, 2)];
    assert.deepEqual(splitUsage(used(10, 20), parts, ownerOf), {
      own: used(10, 20),
      inner: [{ inner: 'dear', usage: used(501, 62), runs: 2 }],
    });
  });

  it('is taken out of totals that include it', () => {
    const parts = [part('own', true, 10, 20), part('dear', true, 500, 60)];
    assert.deepEqual(splitUsage(used(510, 80), parts, ownerOf), {
      own: used(10, 20),
      inner: [{ inner: 'dear', usage: used(500, 60), runs: 1 }],
    });
  });

  it('is not lost where the totals are those of the other model alone', () => {
    const parts = [part('own', true, 10, 20), part('dear', true, 500, 60)];
    const { own } = splitUsage(used(500, 60), parts, ownerOf);
    assert.deepEqual(own, used(10, 20));
  });

  it('adds what its own model did beside the totals', () => {
    assert.deepEqual(splitUsage(used(10, 20), [part(null, false, 5, 6)], ownerOf).own, used(15, 26));
  });
});
