import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ReadResponse } from '../metering/response.ts';
import { TOKEN_COUNT_MAX } from '../metering/usage-facts.ts';
import { firstCount } from './token-counts.ts';

const responseOf = (members: Record<string, unknown>): ReadResponse => ({
  member: (name) => members[name],
  isMarked: () => false,
  count: () => null,
  holding: () => 0,
});

describe('the first count of a response', () => {
  it('is taken from the first place that has a count', () => {
    const response = responseOf({ usage: { total_tokens: 3, prompt_tokens: 2 }, tokens: { input_tokens: 1 } });
    const total = [['usage', 'total_tokens']] as const;
    const prompt = [['usage', 'prompt_tokens']] as const;
    const tokens = [['tokens', 'input_tokens']] as const;
    assert.equal(firstCount(response, [total, prompt, tokens]), 3);
    assert.equal(firstCount(response, [prompt, total, tokens]), 2);
    assert.equal(
      firstCount(response, [[['absent']], [['usage', 'absent']], [['usage', 'absent', 'deeper']], tokens]),
      1,
    );
  });

  it('skips null, and paths through values that are not objects', () => {
    for (const usage of [null, undefined, 7, 'text', [], [{ total_tokens: 4 }], {}, { total_tokens: null }]) {
      const response = responseOf({ usage, tokens: { input_tokens: 1 } });
      assert.equal(firstCount(response, [[['usage', 'total_tokens']], [['tokens', 'input_tokens']]]), 1);
    }
  });

  it('may be a top-level member', () => {
    assert.equal(firstCount(responseOf({ total: 5 }), [[['total']]]), 5);
  });

  it('is taken from a later place if the first is zero, and is zero if all are', () => {
    const places = [[['usage', 'total_tokens']], [['tokens', 'input_tokens']]] as const;
    const count = (tokens: object) => firstCount(responseOf({ usage: { total_tokens: 0 }, tokens }), places);
    assert.equal(count({ input_tokens: 5 }), 5);
    assert.equal(count({ input_tokens: 0 }), 0);
    assert.equal(count({}), 0);
  });

  it('is null if no place has a count', () => {
    assert.equal(firstCount(responseOf({}), [[['usage', 'total_tokens']]]), null);
    assert.equal(firstCount(responseOf({ usage: { total_tokens: 1 } }), []), null);
  });

  it('is null if the first value is invalid, since a later one would be the wrong figure to bill', () => {
    for (const broken of [-1, 0.5, 'five', true, [], {}, TOKEN_COUNT_MAX + 1, Number.NaN]) {
      const response = responseOf({ usage: { total_tokens: broken }, tokens: { input_tokens: 1 } });
      assert.equal(firstCount(response, [[['usage', 'total_tokens']], [['tokens', 'input_tokens']]]), null);
    }
  });

  it('adds the members of a place, of which the first is required', () => {
    const place = [
      ['tokens', 'input_tokens'],
      ['tokens', 'output_tokens'],
      ['tokens', 'other_tokens'],
    ] as const;
    const count = (tokens: object) => firstCount(responseOf({ tokens, rest: 9 }), [place, [['rest']]]);
    assert.equal(count({ input_tokens: 3, output_tokens: 4, other_tokens: 5 }), 12);
    assert.equal(count({ input_tokens: 3, other_tokens: 5 }), 8);
    assert.equal(count({ input_tokens: 3, output_tokens: null }), 3);
    assert.equal(count({ output_tokens: 4 }), 9);
    assert.equal(count({ input_tokens: 3, output_tokens: -4 }), null);
    assert.equal(count({ input_tokens: 3, output_tokens: 4, other_tokens: 'five' }), null);
  });

  it('is a nonnegative integer or null for any response', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (first, second) => {
        const response = responseOf({ usage: first, tokens: { input_tokens: second } });
        const found = firstCount(response, [[['usage', 'total_tokens']], [['tokens', 'input_tokens'], ['usage']]]);
        assert.ok(found === null || (Number.isSafeInteger(found) && found >= 0));
      }),
    );
  });
});
