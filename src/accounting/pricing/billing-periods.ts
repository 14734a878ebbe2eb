/**
 * Weeks and months of billing days. A day is a date of the billing time zone, `YYYY-MM-DD`, so nothing here depends on a time
 * zone: how long a day is, and when it begins, is for `local-time.ts` to say.
 */

const DAY_MS = 86_400_000;

/** The day behind a day, as `YYYY-MM-DD`. */
export function nextDayOf(day: string): string {
  return dateAt(Date.parse(day) + DAY_MS);
}

/** The Monday of the week that a day is in. */
export function weekOf(day: string): string {
  const at = Date.parse(day);
  // Days of the week are counted from Sunday.
  return dateAt(at - ((new Date(at).getUTCDay() + 6) % 7) * DAY_MS);
}

/** The first day of the month that a day is in. */
export function monthOf(day: string): string {
  return `${day.slice(0, 7)}-01`;
}

/** The Monday after a day. */
export function nextWeekOf(day: string): string {
  return dateAt(Date.parse(weekOf(day)) + 7 * DAY_MS);
}

/** The first day of the month after that of a day. */
export function nextMonthOf(day: string): string {
  // No month has fewer than 28 days, and none more than 31.
  return monthOf(dateAt(Date.parse(monthOf(day)) + 31 * DAY_MS));
}

function dateAt(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}
