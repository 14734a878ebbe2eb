/**
 * Which months of call records are past their retention. Records are kept by months of UTC, by the instant of admission, whatever the
 * billing time zone is. Ledger, usage and statements are kept by days of the billing time zone, and stay.
 */

/** The first day of a month of UTC, such as `2026-01-01`. */
export type Month = string;

/** The month of UTC that an instant is in. */
export function monthOf(atMs: number): Month {
  return `${new Date(atMs).toISOString().slice(0, -'DDTHH:MM:SS.mmmZ'.length)}01`;
}

/** The start of a month, inclusive, and its end, exclusive. */
export function boundsOf(month: Month): { readonly fromMs: number; readonly toMs: number } {
  const from = new Date(`${month}T00:00:00Z`);
  return { fromMs: from.getTime(), toMs: Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 1) };
}

/** The first month that stays: earlier ones ended at least `keptMs` ago. */
export function firstMonthKept(nowMs: number, keptMs: number): Month {
  return monthOf(nowMs - keptMs);
}

/** The months that are past their retention, the oldest first. */
export function monthsToDrop(months: readonly Month[], nowMs: number, keptMs: number): Month[] {
  const kept = boundsOf(firstMonthKept(nowMs, keptMs)).fromMs;
  return months
    .filter((month) => boundsOf(month).toMs <= kept)
    .toSorted((one, other) => boundsOf(one).fromMs - boundsOf(other).fromMs);
}
