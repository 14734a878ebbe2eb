/** Days as the gateway counts them: those of the billing time zone, as `2026-11-23`. */

/** Days, both included. */
export interface DateRange {
  readonly from: string;
  readonly to: string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const DAYS_MAX = 1000;

/** Whether a text of an address is a day that the calendar has. */
export function isDay(text: string | undefined): text is string {
  if (text === undefined || !/^[12]\d{3}-\d\d-\d\d$/.test(text)) return false;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && dayOfUtc(ms) === text;
}

/** Whether a text of an address is a month that the calendar has, as `2026-11`. */
export function isMonth(text: string | undefined): text is string {
  return isDay(`${text}-01`);
}

/** The last days up to today, today included. */
export function lastDays(count: number, today: string): DateRange {
  return { from: dayOfUtc(Date.parse(`${today}T00:00:00Z`) - (count - 1) * DAY_MS), to: today };
}

/** The day of an instant in a time zone. */
export function dayIn(timezone: string, ms: number): string {
  return new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeZone: timezone }).format(ms);
}

/** The day behind a day: sums of usage end before it. */
export function dayAfter(day: string): string {
  return dayOfUtc(Date.parse(`${day}T00:00:00Z`) + DAY_MS);
}

/** The first instant of a day in a time zone; where the zone skipped that day, of the one after it. */
export function dayStart(day: string, timezone: string): string {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  // No zone is further from UTC. Zones change their offset on whole minutes.
  let before = midnight - 26 * HOUR_MS;
  let start = midnight + 26 * HOUR_MS;
  while (start - before > MINUTE_MS) {
    const middle = before + Math.floor((start - before) / 2 / MINUTE_MS) * MINUTE_MS;
    if (dayIn(timezone, middle) < day) before = middle;
    else start = middle;
  }
  return new Date(start).toISOString();
}

/** The range as the sums of usage take it: their `to` is the first day behind it. */
export function usageRange({ from, to }: DateRange): DateRange {
  return { from, to: dayAfter(to) };
}

/** The days of a range, first to last. */
export function daysOf({ from, to }: DateRange): string[] {
  const days: string[] = [];
  for (let day = from; day <= to && days.length < DAYS_MAX; day = dayAfter(day)) days.push(day);
  return days;
}

function dayOfUtc(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Whole days of a time zone as the instants that they begin and end with; days that cannot be are left out. */
export function instantsOfDays({ from, to }: { readonly from?: string; readonly to?: string }, timezone: string) {
  return {
    from: isDay(from) ? dayStart(from, timezone) : undefined,
    to: isDay(to) ? dayStart(dayAfter(to), timezone) : undefined,
  };
}
