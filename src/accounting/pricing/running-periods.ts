import { monthOf, nextMonthOf, nextWeekOf, weekOf } from './billing-periods.ts';
import type { LocalTime } from './local-time.ts';

/** The day, the week (from Monday) and the month of the billing time zone that run at an instant. */
export interface RunningPeriods {
  readonly nowMs: number;
  /** The date, `YYYY-MM-DD`. */
  readonly today: string;
  /** When they began. */
  readonly dayBeganAtMs: number;
  readonly weekBeganAtMs: number;
  readonly monthBeganAtMs: number;
  /** When the next ones begin. */
  readonly nextDayMs: number;
  readonly nextWeekMs: number;
  readonly nextMonthMs: number;
}

/** Their beginnings and ends are searched for, so this is done once for each day. */
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

/** What ends of calls need to know of the time. */
export interface BillingTime {
  /** For tests: an instant in place of the database's clock. In production `null`. */
  readonly nowMs: number | null;
  /** The day, week and month of the billing time zone that run at an instant. */
  periodsAt(epochMs: number): RunningPeriods;
}
