import type { TokenPrices } from './charge.ts';
import type { LocalTime } from './local-time.ts';

/** A part of the day by the clock on the wall, in minutes since midnight; `toMinute` is the first one outside. */
export interface DayRange {
  readonly fromMinute: number;
  readonly toMinute: number;
}

/** Two price lists that take turns by the time of day. */
export interface TimeOfDayPrice {
  readonly scheduleId: string;
  readonly timezone: string;
  readonly localTime: LocalTime;
  readonly peakHours: readonly DayRange[];
  readonly peak: TokenPrices;
  readonly offPeak: TokenPrices;
}

/** The price list of a model. */
export interface ModelPrice {
  readonly base: TokenPrices;
  readonly timeOfDay: TimeOfDayPrice | null;
}

/** Which of a model's price lists decides. */
export type PriceRule = 'base' | 'peak' | 'off_peak';

export interface PriceInForce {
  readonly rule: PriceRule;
  readonly prices: TokenPrices;
}

/** The price in force at an instant. A call keeps the one of its admission, for hold and charge alike (design 5.15). */
export function priceInForce(price: ModelPrice, epochMs: number): PriceInForce {
  const timeOfDay = price.timeOfDay;
  if (timeOfDay === null) return { rule: 'base', prices: price.base };
  const minute = timeOfDay.localTime.minuteOfDay(epochMs);
  return timeOfDay.peakHours.some((range) => isInside(range, minute))
    ? { rule: 'peak', prices: timeOfDay.peak }
    : { rule: 'off_peak', prices: timeOfDay.offPeak };
}

/** A range may cross midnight: 22:00-06:00 holds 23:00 and 05:59. */
function isInside(range: DayRange, minute: number): boolean {
  return range.fromMinute <= range.toMinute
    ? minute >= range.fromMinute && minute < range.toMinute
    : minute >= range.fromMinute || minute < range.toMinute;
}
