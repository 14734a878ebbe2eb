import { monthOf, nextMonthOf, nextWeekOf, weekOf } from './billing-periods.ts';
import type { LocalTime } from './local-time.ts';

/** The current day, week and month in the billing time zone. Weeks start on Monday. */
export interface RunningPeriods {
  readonly nowMs: number;
  /** The current day as `YYYY-MM-DD`. */
  readonly today: string;
  readonly dayBeganAtMs: number;
  readonly weekBeganAtMs: number;
  readonly monthBeganAtMs: number;
  readonly nextDayMs: number;
  readonly nextWeekMs: number;
  readonly nextMonthMs: number;
}

/** Cache of the periods of a day, because finding them requires a search. */
const daysOf = new WeakMap<LocalTime, Omit<RunningPeriods, 'nowMs'>>();

export function runningPeriods(localTime: LocalTime, nowMs: number): RunningPeriods {
  const today = localTime.day(nowMs);
  let day = daysOf.get(localTime);
  if (day?.today !== today) {
    day = {
      today,
      dayBeganAtMs: localTime.dayStartMs(today),
      weekBeganAtMs: localTime.dayStartMs(weekOf(today)),
      monthBeganAtMs: localTime.dayStartMs(monthOf(today)),
      nextDayMs: localTime.nextDayStartMs(nowMs),
      nextWeekMs: localTime.dayStartMs(nextWeekOf(today)),
      nextMonthMs: localTime.dayStartMs(nextMonthOf(today)),
    };
    daysOf.set(localTime, day);
  }
  return { nowMs, ...day };
}

export interface BillingTime {
  /** For tests: replaces the database's clock; `null` in production. */
  readonly nowMs: number | null;
  periodsAt(epochMs: number): RunningPeriods;
}
