/** This file computes weeks and months of billing days. A billing day is a date in the billing time zone, `YYYY-MM-DD`. */

const DAY_MS = 86_400_000;

export function nextDayOf(day: string): string {
  return dateAt(Date.parse(day) + DAY_MS);
}

/** Returns the Monday of the day's week. */
export function weekOf(day: string): string {
  const at = Date.parse(day);
  // `getUTCDay` counts from Sunday.
  return dateAt(at - ((new Date(at).getUTCDay() + 6) % 7) * DAY_MS);
}

export function monthOf(day: string): string {
  return `${day.slice(0, 7)}-01`;
}

export function nextWeekOf(day: string): string {
  return dateAt(Date.parse(weekOf(day)) + 7 * DAY_MS);
}

export function nextMonthOf(day: string): string {
  // 31 days after the first of a month is always in the next month.
  return monthOf(dateAt(Date.parse(monthOf(day)) + 31 * DAY_MS));
}

function dateAt(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}
