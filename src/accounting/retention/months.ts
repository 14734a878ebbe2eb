/**
 * Determines which months of call records are past their retention. Call records are grouped by UTC months of their admission, regardless
 * of the billing time zone. Ledger entries, usage and statements use days of the billing time zone, and are never dropped.
 */

/** The first day of a UTC month, such as `2026-01-01`. */
export type Month = string;

/** Returns the UTC month of an instant. */
export function monthOf(atMs: number): Month {
  return `${new Date(atMs).toISOString().slice(0, -'DDTHH:MM:SS.mmmZ'.length)}01`;
}

/** Returns the start of a month (inclusive) and its end (exclusive). */
export function boundsOf(month: Month): { readonly fromMs: number; readonly toMs: number } {
  const from = new Date(`${month}T00:00:00Z`);
  return { fromMs: from.getTime(), toMs: Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 1) };
}

/** Returns the first month that is kept. Earlier months ended at least `keptMs` milliseconds ago. */
export function firstMonthKept(nowMs: number, keptMs: number): Month {
  return monthOf(nowMs - keptMs);
}

/** Returns the months that are past their retention, oldest first. */
export function monthsToDrop(months: readonly Month[], nowMs: number, keptMs: number): Month[] {
  const kept = boundsOf(firstMonthKept(nowMs, keptMs)).fromMs;
  return months
    .filter((month) => boundsOf(month).toMs <= kept)
    .toSorted((one, other) => boundsOf(one).fromMs - boundsOf(other).fromMs);
}
