import type { RateFill } from '../tables.ts';

/**
 * A bucket of a limit per minute. Its use drains evenly, so that a full bucket is empty after a minute: a limit of n allows n at once, and
 * then one every 60/n seconds. A bucket is one number and one instant, exact in integers: use is counted in 60,000ths, of which a limit of
 * n drains n per millisecond.
 */

/** One request or token. */
export const ONE = 60_000;

/** More than any call uses; keeps sums within the exact integers of a double. */
const USED_MAX = 100_000_000_000 * ONE;

/** The use after some time. A clock that goes back drains nothing. */
export function drained(used: number, max: number, elapsedMs: number): number {
  return Math.max(used - max * Math.max(elapsedMs, 0), 0);
}

export function withMore(used: number, count: number): number {
  return Math.min(used + count * ONE, USED_MAX);
}

/**
 * The tokens of a call that have not drained at an instant, given the level of the bucket after the call: tokens that were in the bucket
 * before drain first. 0 if the instant is before the call, because the bucket has been reset since.
 */
export function undrained([used, max, countedAtMs]: RateFill, tokens: number, atMs: number): number {
  if (atMs < countedAtMs) return 0;
  return Math.min(drained(used, max, atMs - countedAtMs), tokens * ONE);
}

/**
 * The use after `count` tokens are given back, except drained ones, which have admitted others already. If those came back, too, calls that
 * run for ten minutes would let ten times the limit through at their ends.
 */
export function withoutUndrained(used: number, count: number, undrained: number): number {
  return Math.max(used - Math.min(count * ONE, undrained), 0);
}

/** Time until a whole one is free; 0 if one is. */
export function msUntilOneFree(used: number, max: number): number {
  return Math.max(Math.ceil((used + ONE - max * ONE) / max), 0);
}

/** Time until any fraction is free; 0 if some is. */
export function msUntilAnyFree(used: number, max: number): number {
  return used < max * ONE ? 0 : Math.floor((used - max * ONE) / max) + 1;
}

export function freeCount(used: number, max: number): number {
  return Math.max(Math.floor((max * ONE - used) / ONE), 0);
}

export function msUntilAllFree(used: number, max: number): number {
  return Math.ceil(used / max);
}
