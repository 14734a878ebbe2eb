import type { LocalTime } from '../pricing/local-time.ts';

/** A month of the billing time zone. */
export interface Month {
  /** Its first day and that of the next month, `YYYY-MM-DD`. */
  readonly firstDay: string;
  readonly nextDay: string;
  /** The instants at which it begins and ends. */
  readonly from: Date;
  readonly to: Date;
}

/** The month `YYYY-MM`. */
export function monthOf(month: string, localTime: LocalTime): Month {
  const [year, number] = month.split('-').map(Number) as [number, number];
  const firstDay = firstDayOf(year, number);
  const nextDay = number === 12 ? firstDayOf(year + 1, 1) : firstDayOf(year, number + 1);
  return {
    firstDay,
    nextDay,
    from: new Date(dayStartMs(firstDay, localTime)),
    to: new Date(dayStartMs(nextDay, localTime)),
  };
}

function firstDayOf(year: number, month: number): string {
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-01`;
}

const DAY_MS = 86_400_000;

/** The first instant of a local day. No time zone is more than a day from UTC. */
function dayStartMs(day: string, localTime: LocalTime): number {
  let atMs = Date.parse(`${day}T00:00:00Z`) - 2 * DAY_MS;
  while (localTime.day(atMs) < day) atMs = localTime.nextDayStartMs(atMs);
  return atMs;
}
