import type { RateFill } from '../tables.ts';

/**
 * A bucket of a limit by the minute. What is used drains evenly, so that a full bucket is empty after a minute: n a minute
 * are n at once, and then one every 60/n seconds. It is one number and one instant, exact in integers: used is counted in
 * 60,000ths, of which a limit of n a minute frees n in a millisecond.
 */

/** One request or token. */
export const ONE = 60_000;

/** More than any call uses; it keeps sums within the integers of a double. */
const USED_MAX = 100_000_000_000 * ONE;

/** What is used now. A clock that was put back drains nothing. */
export function drained(used: number, max: number, elapsedMs: number): number {
  return Math.max(used - max * Math.max(elapsedMs, 0), 0);
}

/** What is used after `count` more. */
export function withMore(used: number, count: number): number {
  return Math.min(used + count * ONE, USED_MAX);
}

/**
 * What of the tokens that a call took has not drained at an instant, given how full they left the bucket: what was in it before the
 * call drains first. Nothing if the instant is before the call: the bucket was begun anew since.
 */
export function undrained([used, max, countedAtMs]: RateFill, tokens: number, atMs: number): number {
  if (atMs < countedAtMs) return 0;
  return Math.min(drained(used, max, atMs - countedAtMs), tokens * ONE);
}

/**
 * What is used after `count` were given back, as far as they have not drained. What has drained made room for others already: if it
 * came back as well, calls that are held for ten minutes would let ten times the limit through at their ends.
 */
export function withoutUndrained(used: number, count: number, undrained: number): number {
  return Math.max(used - Math.min(count * ONE, undrained), 0);
}

/** How long until a whole one is free; 0 if one is. */
export function msUntilOneFree(used: number, max: number): number {
  return Math.max(Math.ceil((used + ONE - max * ONE) / max), 0);
}

/** How long until anything is free; 0 where anything is. */
export function msUntilAnyFree(used: number, max: number): number {
  return used < max * ONE ? 0 : Math.floor((used - max * ONE) / max) + 1;
}

/** How many are free; a part of one is not. */
export function freeCount(used: number, max: number): number {
  return Math.max(Math.floor((max * ONE - used) / ONE), 0);
}

/** How long until all are free. */
export function msUntilAllFree(used: number, max: number): number {
  return Math.ceil(used / max);
}
