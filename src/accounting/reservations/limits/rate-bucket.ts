import type { RateFill } from '../tables.ts';

/**
 * A token bucket that drains evenly: a limit of n allows n requests at once, then one every 60/n seconds. Use is counted in 60,000ths,
 * because then a limit of n drains n of them per millisecond.
 */

/** Stored amount for one request or one token. */
export const ONE = 60_000;

/** Upper bound of stored use, larger than any call's. It keeps sums within the exact integers of a double. */
const USED_MAX = 100_000_000_000 * ONE;

/** Returns the use of a bucket after `elapsedMs`. Nothing drains if the clock went back. */
export function drained(used: number, max: number, elapsedMs: number): number {
  return Math.max(used - max * Math.max(elapsedMs, 0), 0);
}

export function withMore(used: number, count: number): number {
  return Math.min(used + count * ONE, USED_MAX);
}

/**
 * Returns how much of a call's tokens has not drained yet. Tokens of earlier calls drain first. Returns 0 if `atMs` is before the call,
 * because the bucket must have been reset since.
 */
export function undrained([used, max, countedAtMs]: RateFill, tokens: number, atMs: number): number {
  if (atMs < countedAtMs) return 0;
  return Math.min(drained(used, max, atMs - countedAtMs), tokens * ONE);
}

/** Lowers the use of a bucket by tokens that were not used, at most by `undrained`: the capacity of drained ones may be in use again. */
export function withoutUndrained(used: number, count: number, undrained: number): number {
  return Math.max(used - Math.min(count * ONE, undrained), 0);
}

/** Milliseconds until the limit has capacity for one whole request or token; 0: now. */
export function msUntilOneFree(used: number, max: number): number {
  return Math.max(Math.ceil((used + ONE - max * ONE) / max), 0);
}

/** Milliseconds until the limit has any capacity, even a fraction of a token; 0: now. */
export function msUntilAnyFree(used: number, max: number): number {
  return used < max * ONE ? 0 : Math.floor((used - max * ONE) / max) + 1;
}

export function freeCount(used: number, max: number): number {
  return Math.max(Math.floor((max * ONE - used) / ONE), 0);
}

export function msUntilAllFree(used: number, max: number): number {
  return Math.ceil(used / max);
}
