import { nextMonthOf } from '../pricing/billing-periods.ts';
import type { LocalTime } from '../pricing/local-time.ts';

/** A month in the billing time zone. */
interface Month {
  readonly firstDay: string;
  readonly nextDay: string;
  /** Start of the month. Its end, `to`, is exclusive. */
  readonly from: Date;
  readonly to: Date;
}

/** @param month as `YYYY-MM` */
export function monthOf(month: string, { dayStartMs }: LocalTime): Month {
  const firstDay = `${month}-01`;
  const nextDay = nextMonthOf(firstDay);
  return { firstDay, nextDay, from: new Date(dayStartMs(firstDay)), to: new Date(dayStartMs(nextDay)) };
}
