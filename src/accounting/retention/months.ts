/**
 * Which months of call records have gone by. Records are kept in months of UTC, by the instant of admission, whatever the billing time
 * zone is: ledger, usage and statements, which are kept by days of that one, stay.
 */

/** The first day of a month of UTC, such as `2026-01-01`. */
export type Month = string;

/** The month of UTC that an instant is in. */
export function monthOf(atMs: number): Month {
  return `${new Date(atMs).toISOString().slice(0, -'DDTHH:MM:SS.mmmZ'.length)}01`;
}

/** When a month begins, and when the next one does. */
export function boundsOf(month: Month): { readonly fromMs: number; readonly toMs: number } {
  const from = new Date(`${month}T00:00:00Z`);
  return { fromMs: from.getTime(), toMs: Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 1) };
}

/** The first month that stays: those before it have ended at least as long ago as records are kept. */
export function firstMonthKept(nowMs: number, keptMs: number): Month {
  return monthOf(nowMs - keptMs);
}

/** Of months that there are, those that go, the oldest first. */
export function monthsToDrop(months: readonly Month[], nowMs: number, keptMs: number): Month[] {
  const kept = boundsOf(firstMonthKept(nowMs, keptMs)).fromMs;
  return months
    .filter((month) => boundsOf(month).toMs <= kept)
    .toSorted((one, other) => boundsOf(one).fromMs - boundsOf(other).fromMs);
}
