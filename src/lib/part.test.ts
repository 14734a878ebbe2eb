import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { partOf, partOfRate, WHOLE } from './part.ts';

const parts = (count: number) => Array.from({ length: count }, (_, index) => ({ index, count }));
const sum = (numbers: readonly number[]): number => numbers.reduce((all, number) => all + number, 0);

describe('partOf and partOfRate', () => {
  for (const [total, count, expected] of [
    [10, 1, [10]],
    [10, 2, [5, 5]],
    [10, 4, [3, 3, 2, 2]],
    [0, 3, [0, 0, 0]],
    // More shares than units: a process with a share of 0 could not work.
    [2, 3, [1, 1, 1]],
  ] as const) {
    it(`divide ${total} into ${count} shares: ${expected.join(', ')}`, () => {
      assert.deepEqual(
        parts(count).map((part) => partOf(total, part)),
        expected,
      );
    });
  }

  it('return shares that add up to the total and differ by at most one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 0, max: 1e12 }), (count, more) => {
        const total = count + more;
        const each = parts(count).map((part) => partOf(total, part));
        assert.equal(sum(each), total);
        assert.ok(Math.max(...each) - Math.min(...each) <= 1);
      }),
    );
  });

  it('divide the burst of a rate, and multiply its interval', () => {
    const rate = { burst: 100, everyMs: 10 };
    assert.deepEqual(partOfRate(rate, WHOLE), rate);
    assert.deepEqual(partOfRate(rate, { index: 1, count: 8 }), { burst: 13, everyMs: 80 });
  });
});
