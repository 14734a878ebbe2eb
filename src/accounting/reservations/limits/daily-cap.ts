import type { MoneyState } from '../account-state.ts';
import type { Limit } from './limit.ts';

/** The most that an account may spend in a day of the billing time zone; what its calls have reserved counts as spent. */
export const dailyCap: Limit = {
  refuse(call, { money }, { today, nextDayMs, defaultDailyCapNano }) {
    const capNano = lowestCap(money.dailyCapNano ?? defaultDailyCapNano, money.ownDailyCapNano);
    if (call.isOnPlan || capNano === null) return null;
    const spentNano = spentOn(money, today);
    if (spentNano + money.reservedNano < capNano) return null;
    return { kind: 'balanceDailyLimitExceeded', retryAt: spentNano < capNano ? 'soon' : nextDayMs };
  },
};

/** The cap in force: owners set theirs below that of the operator, and lift none. */
export function lowestCap(capNano: bigint | null, ownCapNano: bigint | null): bigint | null {
  if (capNano === null || ownCapNano === null) return capNano ?? ownCapNano;
  return ownCapNano < capNano ? ownCapNano : capNano;
}

/** What was spent on a day. The day never goes back: where another node's clock is ahead, its day counts. */
export function spentOn(money: Pick<MoneyState, 'spentOn' | 'spentNano'>, today: string): bigint {
  return money.spentOn >= today ? money.spentNano : 0n;
}

export function countSpending(money: MoneyState, chargeNano: bigint, today: string): void {
  money.spentNano = spentOn(money, today) + chargeNano;
  if (money.spentOn < today) money.spentOn = today;
}
