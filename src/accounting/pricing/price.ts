import type { UnitPrices } from './charge.ts';
import type { LocalTime } from './local-time.ts';

/** A range of local time, in minutes since midnight; `toMinute` is exclusive. */
export interface DayRange {
  readonly fromMinute: number;
  readonly toMinute: number;
}

export interface TimeOfDayPrice {
  readonly scheduleId: string;
  readonly timezone: string;
  readonly localTime: LocalTime;
  readonly peakHours: readonly DayRange[];
  readonly peak: UnitPrices;
  readonly offPeak: UnitPrices;
}

/** Price lists for peak and other hours that are in force together. */
export interface PriceLists {
  readonly base: UnitPrices;
  readonly timeOfDay: TimeOfDayPrice | null;
}

export interface ModelPrice extends PriceLists {
  /** Later price lists, which replace these ones from their instants on; in the order of instants. */
  readonly later: readonly LaterPrice[];
}

interface LaterPrice extends PriceLists {
  readonly fromMs: number;
}

export type PriceRule = 'base' | 'peak' | 'off_peak';

export interface PriceInForce {
  readonly rule: PriceRule;
  readonly prices: UnitPrices;
}

/**
 * Returns the price in force at an instant. A call keeps the price of its admission for its reservation and its charge.
 *
 * @param epochMs selects by time of day
 * @param listsAtMs selects among later prices
 */
export function priceInForce(price: ModelPrice, epochMs: number, listsAtMs = epochMs): PriceInForce {
  const { base, timeOfDay } = listsInForce(price, listsAtMs);
  if (timeOfDay === null) return { rule: 'base', prices: base };
  return isPeak(timeOfDay, epochMs)
    ? { rule: 'peak', prices: timeOfDay.peak }
    : { rule: 'off_peak', prices: timeOfDay.offPeak };
}

/** The price lists in force at an instant. */
export function listsInForce(price: ModelPrice, epochMs: number): PriceLists {
  // Nearly all prices have no later lists.
  return price.later.length === 0 ? price : (price.later.findLast(({ fromMs }) => fromMs <= epochMs) ?? price);
}

type Schedule = Pick<TimeOfDayPrice, 'localTime' | 'peakHours'>;

export function isPeak({ localTime, peakHours }: Schedule, epochMs: number): boolean {
  const minute = localTime.minuteOfDay(epochMs);
  return peakHours.some((range) => isInside(range, minute));
}

const MINUTE_MS = 60_000;
/** Minutes to search: the longest possible day. A range that fills the whole day never switches. */
const SEARCH_MINUTES = 26 * 60;

/** Returns when the price next changes; `null`: not within a day. Checks each minute, because a day can have 23 or 25 hours. */
export function nextPriceSwitchMs(schedule: Schedule, epochMs: number): number | null {
  const now = isPeak(schedule, epochMs);
  const firstMinute = Math.floor(epochMs / MINUTE_MS);
  for (let minute = firstMinute + 1; minute <= firstMinute + SEARCH_MINUTES; minute++) {
    if (isPeak(schedule, minute * MINUTE_MS) !== now) return minute * MINUTE_MS;
  }
  return null;
}

/** Whether a minute is in a range, which may cross midnight: 22:00-06:00 contains 23:00 and 05:59. */
function isInside(range: DayRange, minute: number): boolean {
  return range.fromMinute <= range.toMinute
    ? minute >= range.fromMinute && minute < range.toMinute
    : minute >= range.fromMinute || minute < range.toMinute;
}
