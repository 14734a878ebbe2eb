/**
 * Counters of a day, week, month or plan period store the instant at which that period began. The terms in force determine which period is
 * current:
 *
 *     the counted period began          then
 *     before the current period         it is over: nothing of the current period is used
 *     in the current period             it continues, even if the terms have changed since
 *     slightly in the future            it continues: the clock was set back
 *     further in the future             it starts over: the clock was wrong
 */

/** A synchronized clock goes back by seconds at most, for example at a failover. The shortest period of a limit is one minute. */
export const CLOCK_TOLERANCE_MS = 60_000;

/** Whether an instant is so far in the future that a synchronized clock cannot be the reason. */
export function isInFuture(atMs: number, nowMs: number): boolean {
  return atMs > nowMs + CLOCK_TOLERANCE_MS;
}

/** Whether a counted period still continues. `runningSinceMs`: start of the current period. */
export function isCounted(beganAtMs: number, runningSinceMs: number, nowMs: number): boolean {
  return beganAtMs >= runningSinceMs && beganAtMs <= nowMs + CLOCK_TOLERANCE_MS;
}

/** The start of the period that contains an instant. */
export function beganAtMs(anchorMs: number, lengthMs: number, atMs: number): number {
  return anchorMs + Math.floor((atMs - anchorMs) / lengthMs) * lengthMs;
}

/** The current period, counted from an anchor, and whether a stored count belongs to it. If not, nothing of this period is used yet. */
export function countedPeriod(
  anchorMs: number,
  lengthMs: number,
  countBeganAtMs: number,
  nowMs: number,
): { readonly beganAtMs: number; readonly isCounted: boolean } {
  const runningSinceMs = beganAtMs(anchorMs, lengthMs, nowMs);
  if (!isCounted(countBeganAtMs, runningSinceMs, nowMs)) return { beganAtMs: runningSinceMs, isCounted: false };
  // Slightly in the future, the counted period may be the next one.
  return { beganAtMs: beganAtMs(anchorMs, lengthMs, Math.max(countBeganAtMs, nowMs)), isCounted: true };
}

/** SQL: `isCounted` for a column and two parameters. */
export const countedSql = (column: string, runningSince: string, now: string): string =>
  `(${column} >= ${runningSince}::timestamptz and ${column} <= ${now}::timestamptz + interval '${CLOCK_TOLERANCE_MS} ms')`;
