import type { KeyCounts } from '../../accounts/key-limit-tables.ts';
import { isCounted } from '../../counts/counted-since.ts';
import type { RunningPeriods } from '../../pricing/running-periods.ts';
import type { KeyState } from '../account-state.ts';

/** What a key, or a person, counts by the day, the week and the month. */
export type OwnerUse = Pick<KeyCounts, 'spentNano' | 'weekSpentNano' | 'monthSpentNano' | 'totalSpentNano' | 'calls'>;

/**
 * What counts in the day, the week and the month that run. A day that goes on is in the week and the month that run, also where these
 * began anew in it, because the time zone was changed.
 */
export function usedNow(key: KeyState, periods: RunningPeriods): OwnerUse {
  const { isDay, isWeek, isMonth } = countedPeriods(key, periods);
  const spentNano = isDay ? key.spentNano : 0n;
  return {
    spentNano,
    weekSpentNano: isWeek && key.weekSpentNano > spentNano ? key.weekSpentNano : spentNano,
    monthSpentNano: isMonth && key.monthSpentNano > spentNano ? key.monthSpentNano : spentNano,
    totalSpentNano: key.totalSpentNano,
    calls: isDay ? key.calls : 0,
  };
}

/** A call that is admitted or ends begins the periods that run; one that is refused changes nothing. */
export function beginPeriods(key: KeyState, periods: RunningPeriods): void {
  const { isDay, isWeek, isMonth } = countedPeriods(key, periods);
  if (!isDay) {
    key.dayBeganAtMs = periods.dayBeganAtMs;
    key.dayNo++;
    key.spentNano = 0n;
    key.calls = 0;
  }
  if (!isWeek) {
    key.weekBeganAtMs = periods.weekBeganAtMs;
    key.weekNo++;
    key.weekSpentNano = 0n;
  }
  if (!isMonth) {
    key.monthBeganAtMs = periods.monthBeganAtMs;
    key.monthNo++;
    key.monthSpentNano = 0n;
  }
}

/** Which of the periods that a key counts are those that run. */
function countedPeriods(key: KeyState, { nowMs, dayBeganAtMs, weekBeganAtMs, monthBeganAtMs }: RunningPeriods) {
  return {
    isDay: isCounted(key.dayBeganAtMs, dayBeganAtMs, nowMs),
    isWeek: isCounted(key.weekBeganAtMs, weekBeganAtMs, nowMs),
    isMonth: isCounted(key.monthBeganAtMs, monthBeganAtMs, nowMs),
  };
}
