/** This file defines latency histograms. Their limits never change, because stored rows have one count for each limit, and one more. */

const FIRST_MS = 10;
const LIMITS = 32;

/** Upper limits in milliseconds, from 10 ms to eight minutes, with two limits for each doubling. */
export const LIMITS_MS: readonly number[] = Array.from({ length: LIMITS }, (_, i) =>
  Math.round(FIRST_MS * 2 ** (i / 2)),
);

/** Estimates a percentile by linear interpolation within its bucket; at most the last limit. Returns `null` if all counts are 0. */
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
