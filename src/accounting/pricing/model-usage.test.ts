import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noUsage, type Usage } from '../../protocols/metering/usage-facts.ts';
import type { UnitCounts } from '../../protocols/metering/usage-units.ts';
import { type OwnedUsage, splitUsage } from './model-usage.ts';

const used = (inputTokens: number, outputTokens: number) => ({ ...noUsage, inputTokens, outputTokens });
const ownerOf = (model: string | null) => (model === null || model === 'own' ? 'own' : { dear: 'dear' }.dear);
const part = (model: string | null, isInside: boolean, input: number, output: number) => ({
  model,
  isInside,
  usage: used(input, output),
});
const compaction = (input: number, output: number) => ({
  model: null,
  isInside: true,
  usage: { ...used(input, output), compactions: 1 },
});

const pair = ({ inputTokens, outputTokens }: UnitCounts) => [inputTokens, outputTokens];
const shown = ({ usage, runs }: OwnedUsage) => ({ sum: pair(usage), runs: runs.map(pair) });
function split(totals: Usage, parts: Parameters<typeof splitUsage>[1]) {
  const { own, inner } = splitUsage(totals, parts, ownerOf);
  return { own: shown(own), inner: inner.map((each) => ({ name: each.inner, ...shown(each) })) };
}

describe('the usage of several models in one call', () => {
  it('is the totals if no other model ran', () => {
    const parts = [part('own', true, 7, 7), part(null, true, 3, 3)];
    assert.deepEqual(split(used(5, 6), parts), { own: { sum: [5, 6], runs: [[5, 6]] }, inner: [] });
  });

  it('is added if the totals do not include it', () => {
    const parts = [part('own', true, 10, 20), part('dear', false, 500, 60), part('dear', false, 1, 2)];
    assert.deepEqual(split(used(10, 20), parts), {
      own: { sum: [10, 20], runs: [[10, 20]] },
      inner: [
        {
          name: 'dear',
          sum: [501, 62],
          runs: [
            [500, 60],
            [1, 2],
          ],
        },
      ],
    });
  });

  it('is subtracted from totals that include it', () => {
    const parts = [part('own', true, 10, 20), part('dear', true, 500, 60)];
    assert.deepEqual(split(used(510, 80), parts), {
      own: { sum: [10, 20], runs: [[10, 20]] },
      inner: [{ name: 'dear', sum: [500, 60], runs: [[500, 60]] }],
    });
  });

  it('is kept if the totals cover the other model only', () => {
    const parts = [part('own', true, 10, 20), part('dear', true, 500, 60)];
    assert.deepEqual(split(used(500, 60), parts).own.sum, [10, 20]);
  });

  it('includes runs of its own model that the totals exclude', () => {
    const { own } = split(used(10, 20), [part(null, false, 5, 6)]);
    assert.deepEqual(own, {
      sum: [15, 26],
      runs: [
        [10, 20],
        [5, 6],
      ],
    });
  });
});

describe('the runs of a model', () => {
  const cases: readonly [what: string, totals: Usage, parts: ReturnType<typeof part>[], runs: number[][]][] = [
    ['are one if none is listed', used(9, 9), [], [[9, 9]]],
    [
      'are the listed ones if they add up',
      used(30, 9),
      [part(null, true, 10, 4), part('own', true, 20, 5)],
      [
        [10, 4],
        [20, 5],
      ],
    ],
    [
      'are one if the listed ones do not add up',
      used(31, 9),
      [part(null, true, 10, 4), part('own', true, 20, 5)],
      [[31, 9]],
    ],
    [
      'include compactions',
      used(203, 5),
      [compaction(180, 4), part('own', true, 23, 1)],
      [
        [180, 4],
        [23, 1],
      ],
    ],
    [
      'are compactions and the remainder if no other run is listed',
      used(203, 5),
      [compaction(180, 4)],
      [
        [23, 1],
        [180, 4],
      ],
    ],
    [
      'are compactions and the remainder if the other runs do not add up',
      used(203, 5),
      [compaction(180, 4), part('own', true, 9, 1)],
      [
        [23, 1],
        [180, 4],
      ],
    ],
  ];
  for (const [what, totals, parts, runs] of cases) {
    it(what, () => {
      const { own } = split(totals, parts);
      assert.deepEqual(own, { sum: pair(totals), runs });
    });
  }

  it('exclude those of other models', () => {
    const parts = [compaction(180, 4), part('own', true, 20, 1), part('own', true, 3, 1), part('dear', true, 5, 5)];
    assert.deepEqual(split(used(208, 11), parts).own, {
      sum: [203, 6],
      runs: [
        [180, 4],
        [20, 1],
        [3, 1],
      ],
    });
  });
});
