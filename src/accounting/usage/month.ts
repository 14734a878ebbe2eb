import { nextMonthOf } from '../pricing/billing-periods.ts';
import type { LocalTime } from '../pricing/local-time.ts';

/** A month of the billing time zone. */
interface Month {
  /** The first day of the month and the first day of the next month, as `YYYY-MM-DD`. */
  readonly firstDay: string;
  readonly nextDay: string;
  /** Inclusive start; `to` is the exclusive end. */
  readonly from: Date;
  readonly to: Date;
}

/** Parses a month in the format `YYYY-MM`. */
export function monthOf(month: string, { dayStartMs }: LocalTime): Month {
  const firstDay = `${month}-01`;
  const nextDay = nextMonthOf(firstDay);
  return { firstDay, nextDay, from: new Date(dayStartMs(firstDay)), to: new Date(dayStartMs(nextDay)) };
}
