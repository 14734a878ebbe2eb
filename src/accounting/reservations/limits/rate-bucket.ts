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

/** What is used after `count` more, or after as many were given back. */
export function withMore(used: number, count: number): number {
  return Math.min(Math.max(used + count * ONE, 0), USED_MAX);
}

/** How long until a whole one is free; 0 where one is. */
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
