import type { LocalTime } from '../../../accounting/pricing/local-time.ts';
import type { RandomSource } from './chance.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
export const MONTH_DAYS = 30;

/** How much is called in each hour of the day: by people at work, and by programs that run at night. */
const BY_HOUR = {
  people: [1, 1, 0, 0, 0, 0, 1, 3, 8, 16, 20, 19, 10, 13, 19, 21, 20, 17, 11, 8, 8, 7, 4, 2],
  nightly: [9, 26, 30, 22, 8, 1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 2],
  service: [6, 4, 3, 3, 3, 4, 7, 11, 15, 18, 19, 18, 16, 17, 18, 19, 19, 18, 17, 18, 19, 17, 13, 9],
} as const;

export type Rhythm = keyof typeof BY_HOUR;

const WEEKEND: Readonly<Record<Rhythm, number>> = { people: 0.25, nightly: 1, service: 0.7 };

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** When so many calls begin within a span, in order: more by day and on working days, and more from week to week. */
export function callTimes(
  count: number,
  rhythm: Rhythm,
  span: Span,
  localTime: LocalTime,
  randomSource: RandomSource,
): number[] {
  const hours: { readonly weight: number; readonly atMs: number }[] = [];
  for (let atMs = span.fromMs; atMs + HOUR_MS <= span.toMs; atMs += HOUR_MS) {
    const day = localTime.day(atMs);
    const isWeekend = [0, 6].includes(new Date(day).getUTCDay());
    const growth = 0.75 + (0.5 * (atMs - span.fromMs)) / (span.toMs - span.fromMs);
    const byHour = BY_HOUR[rhythm][Math.floor(localTime.minuteOfDay(atMs) / 60)]!;
    hours.push({ atMs, weight: byHour * growth * (isWeekend ? WEEKEND[rhythm] : 1) * unevenness(day) });
  }
  const found = Array.from(
    { length: count },
    () => randomSource.choose(hours).atMs + randomSource.between(0, HOUR_MS - 1),
  );
  return found.sort((left, right) => left - right);
}

/** No two days are alike: a factor from 0.7 to 1.3 that follows from the date. */
function unevenness(day: string): number {
  const dayNo = Date.parse(day) / DAY_MS;
  return 0.7 + (0.6 * ((dayNo * 7) % 11)) / 10;
}
