import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LIMITS_MS, percentileMs } from './latency-buckets.ts';

/** Counts as the database does. */
function counted(times: readonly number[]): number[] {
  const counts = new Array<number>(LIMITS_MS.length + 1).fill(0);
  for (const ms of times) {
    const above = LIMITS_MS.findIndex((limit) => ms < limit);
    counts[above < 0 ? LIMITS_MS.length : above]! += 1;
  }
  return counts;
}

describe('percentiles of buckets', () => {
  it('are in the bucket of the exact percentile', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 400_000 }), { minLength: 1, maxLength: 200 }),
        fc.constantFrom(0.5, 0.95),
        (times, share) => {
          const exact = times.toSorted((a, b) => a - b)[Math.ceil(share * times.length) - 1]!;
          const found = percentileMs(counted(times), share)!;
          const above = LIMITS_MS.findIndex((limit) => exact < limit);
          assert.ok(found >= (LIMITS_MS[above - 1] ?? 0) && found <= LIMITS_MS[above]!, `${found} for ${exact}`);
        },
      ),
    );
  });

  it('are null without times, and at most the last limit', () => {
    assert.equal(percentileMs(counted([]), 0.5), null);
    assert.equal(percentileMs(counted([10 ** 9]), 0.5), LIMITS_MS.at(-1));
  });
});
