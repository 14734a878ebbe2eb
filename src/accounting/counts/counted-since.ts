/**
 * Whether a count still counts. What is used of a day, a week, a month or a period is stored with the instant at which that one
 * began, by the terms that were in force. The terms of now say which one runs now:
 *
 *     began before the running one      the running one begins: nothing of it is used
 *     began in it                       it goes on, also if the terms were others when it began
 *     began in the future, a little     it goes on: the clock was put back, and nobody gets a day twice
 *     began further in the future       it begins anew: the clock was wrong, and nobody waits until then
 */

/**
 * How far ahead of the clock of the database a count may have begun. A clock that is kept goes back by less: by seconds if a
 * server takes over from another one or a machine wakes up, since nodes complain of two (`nodes/database-clock.ts`). It is as long as the shortest
 * limit, a minute, so that no clock that goes back holds up a limit for longer than that.
 */
export const CLOCK_TOLERANCE_MS = 60_000;

/** Whether an instant is further ahead than a clock that is kept goes back. */
export function isAhead(atMs: number, nowMs: number): boolean {
  return atMs > nowMs + CLOCK_TOLERANCE_MS;
}

/** Whether a count that began at an instant is of the period that runs now and began at `runningSinceMs`. */
export function isCounted(beganAtMs: number, runningSinceMs: number, nowMs: number): boolean {
  return beganAtMs >= runningSinceMs && beganAtMs <= nowMs + CLOCK_TOLERANCE_MS;
}

/** When the period began that an instant is in, of periods of one length, one after the other from an anchor on. */
export function beganAtMs(anchorMs: number, lengthMs: number, atMs: number): number {
  return anchorMs + Math.floor((atMs - anchorMs) / lengthMs) * lengthMs;
}

/**
 * Which of the periods from an anchor on is counted now, by a count that began at an instant, and whether that count is of it; if
 * it is not, nothing of the period is used.
 */
export function countedPeriod(
  anchorMs: number,
  lengthMs: number,
  countBeganAtMs: number,
  nowMs: number,
): { readonly beganAtMs: number; readonly isCounted: boolean } {
  const runningSinceMs = beganAtMs(anchorMs, lengthMs, nowMs);
  if (!isCounted(countBeganAtMs, runningSinceMs, nowMs)) return { beganAtMs: runningSinceMs, isCounted: false };
  // A little ahead, it may be the next one.
  return { beganAtMs: beganAtMs(anchorMs, lengthMs, Math.max(countBeganAtMs, nowMs)), isCounted: true };
}

/** SQL: as `isCounted`, of a column and two parameters. */
export const countedSql = (column: string, runningSince: string, now: string): string =>
  `(${column} >= ${runningSince}::timestamptz and ${column} <= ${now}::timestamptz + interval '${CLOCK_TOLERANCE_MS} ms')`;
