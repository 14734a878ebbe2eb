import type { RateFill } from '../tables.ts';

/**
 * A bucket drains evenly, so a limit of n allows n at once, and then one every 60/n seconds. Use is counted in 60,000ths, so that a limit
 * of n drains n of these per millisecond.
 */

/** The stored amount of one request or token. */
export const ONE = 60_000;

/** Larger than the use of any call. Keeps sums within the exact integers of a double. */
const USED_MAX = 100_000_000_000 * ONE;

/** Returns the use of a bucket after `elapsedMs`. If the clock went back, nothing drains. */
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

/** Gives back at most `undrained`. The capacity of drained tokens may already be used by other calls. */
export function withoutUndrained(used: number, count: number, undrained: number): number {
  return Math.max(used - Math.min(count * ONE, undrained), 0);
}

/** Time until a whole request or token is free; 0: now. */
export function msUntilOneFree(used: number, max: number): number {
  return Math.max(Math.ceil((used + ONE - max * ONE) / max), 0);
}

/** Time until any fraction of a request or token is free; 0: now. */
export function msUntilAnyFree(used: number, max: number): number {
  return used < max * ONE ? 0 : Math.floor((used - max * ONE) / max) + 1;
}

export function freeCount(used: number, max: number): number {
  return Math.max(Math.floor((max * ONE - used) / ONE), 0);
}

export function msUntilAllFree(used: number, max: number): number {
  return Math.ceil(used / max);
}
