/** This file groups records by the UTC month of their admission. Ledger entries, usage and statements are never dropped. */

/** The first day of a UTC month, such as `2026-01-01`. */
export type Month = string;

export function monthOf(atMs: number): Month {
  return `${new Date(atMs).toISOString().slice(0, -'DDTHH:MM:SS.mmmZ'.length)}01`;
}

/** Returns when a month begins and ends; `toMs` is exclusive. */
export function boundsOf(month: Month): { readonly fromMs: number; readonly toMs: number } {
  const from = new Date(`${month}T00:00:00Z`);
  return { fromMs: from.getTime(), toMs: Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 1) };
}

/** Returns the first month whose records are kept. Earlier months ended at least `keptMs` ago. */
export function firstMonthKept(nowMs: number, keptMs: number): Month {
  return monthOf(nowMs - keptMs);
}

/** Returns the months to drop, oldest first. */
export function monthsToDrop(months: readonly Month[], nowMs: number, keptMs: number): Month[] {
  const kept = boundsOf(firstMonthKept(nowMs, keptMs)).fromMs;
  return months
    .filter((month) => boundsOf(month).toMs <= kept)
    .toSorted((one, other) => boundsOf(one).fromMs - boundsOf(other).fromMs);
}
