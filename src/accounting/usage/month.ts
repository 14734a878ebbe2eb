import { nextMonthOf } from '../pricing/billing-periods.ts';
import type { LocalTime } from '../pricing/local-time.ts';

/** A month of the billing time zone. */
interface Month {
  /** Its first day and that of the next month, `YYYY-MM-DD`. */
  readonly firstDay: string;
  readonly nextDay: string;
  /** Inclusive start and exclusive end. */
  readonly from: Date;
  readonly to: Date;
}

/** The month `YYYY-MM`. */
export function monthOf(month: string, { dayStartMs }: LocalTime): Month {
  const firstDay = `${month}-01`;
  const nextDay = nextMonthOf(firstDay);
  return { firstDay, nextDay, from: new Date(dayStartMs(firstDay)), to: new Date(dayStartMs(nextDay)) };
}
