/**
 * Times are counted in buckets, so that sums of hours, routes and partitions have percentiles. The limits are the same for ever: rows have one
 * count for each, and one more for what is longer.
 */

const FIRST_MS = 10;
const LIMITS = 32;

/** The limits in milliseconds, from 10 ms to eight minutes, two for each doubling. */
export const LIMITS_MS: readonly number[] = Array.from({ length: LIMITS }, (_, i) =>
  Math.round(FIRST_MS * 2 ** (i / 2)),
);

/**
 * The time that a share of all times is not above, such as 0.5 or 0.95, as near as the buckets tell: within one, times are taken to be spread
 * evenly. `null`: there are none. Of times beyond the last limit, that limit.
 */
export function percentileMs(counts: readonly number[], share: number): number | null {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  let before = 0;
  for (const [i, count] of counts.entries()) {
    if (count > 0 && before + count >= share * all) {
      const from = LIMITS_MS[i - 1] ?? 0;
      const to = LIMITS_MS[i] ?? from;
      return from + ((to - from) * (share * all - before)) / count;
    }
    before += count;
  }
  return LIMITS_MS.at(-1)!;
}
