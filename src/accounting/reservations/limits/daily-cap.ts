import { isCounted } from '../../counts/counted-since.ts';
import type { RunningPeriods } from '../../pricing/running-periods.ts';
import type { MoneyState } from '../account-state.ts';
import type { Limit } from './limit.ts';

/** Limits the spending per day of the billing time zone. Reservations count as spent. */
export const dailyCap: Limit = {
  refuse({ groupLimits }, { money }, context) {
    const usualNano = groupLimits?.dailyCapNano ?? context.defaultDailyCapNano;
    const capNano = lowestCap(money.dailyCapNano ?? usualNano, money.ownDailyCapNano);
    if (capNano === null) return null;
    const spentNano = spentToday(money, context);
    if (spentNano + money.reservedNano < capNano) return null;
    return { kind: 'balanceDailyLimitExceeded', retryAt: spentNano < capNano ? 'soon' : context.nextDayMs };
  },
};

/** Returns the cap that applies: the lower one of the operator's and the owners'. `null`: no cap. */
export function lowestCap(capNano: bigint | null, ownCapNano: bigint | null): bigint | null {
  if (capNano === null || ownCapNano === null) return capNano ?? ownCapNano;
  return ownCapNano < capNano ? ownCapNano : capNano;
}

/** Returns what counts against the daily cap, without reservations. */
export function spentToday(
  money: Pick<MoneyState, 'dayBeganAtMs' | 'spentNano'>,
  { dayBeganAtMs, nowMs }: RunningPeriods,
): bigint {
  return isCounted(money.dayBeganAtMs, dayBeganAtMs, nowMs) ? money.spentNano : 0n;
}

export function countSpending(money: MoneyState, chargeNano: bigint, { dayBeganAtMs, nowMs }: RunningPeriods): void {
  if (!isCounted(money.dayBeganAtMs, dayBeganAtMs, nowMs)) {
    money.dayBeganAtMs = dayBeganAtMs;
    money.dayNo++;
    money.spentNano = 0n;
  }
  money.spentNano += chargeNano;
}
