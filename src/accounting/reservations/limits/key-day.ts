import type { KeyCounts } from '../../accounts/key-limit-tables.ts';
import { isCounted } from '../../counts/counted-since.ts';
import type { RunningPeriods } from '../../pricing/running-periods.ts';
import type { KeyState } from '../account-state.ts';

export type OwnerUse = Pick<KeyCounts, 'spentNano' | 'weekSpentNano' | 'monthSpentNano' | 'totalSpentNano' | 'calls'>;

/** Returns the current use. The current day counts in its week and month, even if a new time zone made these begin within the day. */
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

/** Starts new periods. Only calls that are admitted or that end do this; a refused call changes nothing. */
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

function countedPeriods(key: KeyState, { nowMs, dayBeganAtMs, weekBeganAtMs, monthBeganAtMs }: RunningPeriods) {
  return {
    isDay: isCounted(key.dayBeganAtMs, dayBeganAtMs, nowMs),
    isWeek: isCounted(key.weekBeganAtMs, weekBeganAtMs, nowMs),
    isMonth: isCounted(key.monthBeganAtMs, monthBeganAtMs, nowMs),
  };
}
