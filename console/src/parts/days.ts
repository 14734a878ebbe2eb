/** Days are those of the billing time zone, written `2026-11-23`. */

/** Both days are included. */
export interface DateRange {
  readonly from: string;
  readonly to: string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const DAYS_MAX = 1000;

export function isDay(text: string | undefined): text is string {
  if (text === undefined || !/^[12]\d{3}-\d\d-\d\d$/.test(text)) return false;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && dayOfUtc(ms) === text;
}

/** Whether the text is a valid month, such as `2026-11`. */
export function isMonth(text: string | undefined): text is string {
  return isDay(`${text}-01`);
}

/** The given number of days, ending with today. */
export function lastDays(count: number, today: string): DateRange {
  return { from: dayOfUtc(Date.parse(`${today}T00:00:00Z`) - (count - 1) * DAY_MS), to: today };
}

/** The range in the page address; invalid and missing days are those of `first`. */
export function rangeOf(query: { readonly from?: string; readonly to?: string }, first: DateRange): DateRange {
  return { from: isDay(query.from) ? query.from : first.from, to: isDay(query.to) ? query.to : first.to };
}

export function dayIn(timezone: string, ms: number): string {
  return new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeZone: timezone }).format(ms);
}

/** The next day, which is the exclusive end of usage queries. */
export function dayAfter(day: string): string {
  return dayOfUtc(Date.parse(`${day}T00:00:00Z`) + DAY_MS);
}

/** The first instant of a day in a time zone; of the next day if the zone skipped it. */
export function dayStart(day: string, timezone: string): string {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  // No UTC offset exceeds 26 h, and offsets change at whole minutes.
  let before = midnight - 26 * HOUR_MS;
  let start = midnight + 26 * HOUR_MS;
  while (start - before > MINUTE_MS) {
    const middle = before + Math.floor((start - before) / 2 / MINUTE_MS) * MINUTE_MS;
    if (dayIn(timezone, middle) < day) before = middle;
    else start = middle;
  }
  return new Date(start).toISOString();
}

/** Converts to a usage query, whose `to` is exclusive. */
export function usageRange({ from, to }: DateRange): DateRange {
  return { from, to: dayAfter(to) };
}

export function daysOf({ from, to }: DateRange): string[] {
  const days: string[] = [];
  for (let day = from; day <= to && days.length < DAYS_MAX; day = dayAfter(day)) days.push(day);
  return days;
}

function dayOfUtc(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The first instant and the exclusive end of whole days. Invalid days are left out. */
export function instantsOfDays({ from, to }: { readonly from?: string; readonly to?: string }, timezone: string) {
  return {
    from: isDay(from) ? dayStart(from, timezone) : undefined,
    to: isDay(to) ? dayStart(dayAfter(to), timezone) : undefined,
  };
}
