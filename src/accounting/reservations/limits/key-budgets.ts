import type { RunningPeriods } from '../../pricing/running-periods.ts';
import type { KeyState } from '../account-state.ts';
import type { Refusal } from '../reservation.ts';
import { beginPeriods, keyOf, usedNow } from './key-day.ts';
import type { Limit } from './limit.ts';

/**
 * What a key may spend in a day, a week and a month of the billing time zone, and in all; what its calls have reserved counts
 * as spent. Off by default. Calls on a plan cost no money and are not limited by it.
 */
export const keyBudgets: Limit = {
  refuse(call, account, context) {
    const key = keyOf(call, account);
    if (call.isOnPlan || key === null) return null;
    let held: Refusal | null = null;
    for (const { kind, capNano, spentNano, freesAtMs } of budgetsOf(key, context)) {
      if (capNano === null || spentNano + key.reservedNano < capNano) continue;
      if (spentNano >= capNano) return { kind, retryAt: freesAtMs };
      held ??= { kind, retryAt: 'soon' };
    }
    return held;
  },
  take(request, account, reservation, context) {
    const key = keyOf(request, account);
    if (key === null) return;
    beginPeriods(key, context);
    const { amountNano } = request;
    reservation.keyAmountNano = amountNano ?? 0n;
    key.reservedNano += amountNano ?? 0n;
  },
  free({ keyId, keyAmountNano }, { keyChargeNano }, { keys }, periods) {
    const key = keys.get(keyId);
    if (key === undefined || keyAmountNano === null) return;
    key.reservedNano -= keyAmountNano;
    countKeySpending(key, keyChargeNano, periods);
  },
};

/** Counts a charge in all budgets of a key, in the periods in which it is charged. */
export function countKeySpending(key: KeyState, chargeNano: bigint, periods: RunningPeriods): void {
  beginPeriods(key, periods);
  key.spentNano += chargeNano;
  key.weekSpentNano += chargeNano;
  key.monthSpentNano += chargeNano;
  key.totalSpentNano += chargeNano;
}

/** What remains of the budget that leaves least, whatever calls in flight hold; `null` if the key has none. */
export function smallestBudgetLeft(key: KeyState, periods: RunningPeriods): bigint | null {
  const used = usedNow(key, periods);
  const left = [
    leftOf(key.totalSpendCapNano, used.totalSpentNano),
    leftOf(key.monthlySpendCapNano, used.monthSpentNano),
    leftOf(key.weeklySpendCapNano, used.weekSpentNano),
    leftOf(key.dailySpendCapNano, used.spentNano),
  ].filter((nano) => nano !== null);
  return left.length === 0 ? null : left.reduce((least, nano) => (nano < least ? nano : least));
}

function leftOf(capNano: bigint | null, spentNano: bigint): bigint | null {
  if (capNano === null) return null;
  return spentNano < capNano ? capNano - spentNano : 0n;
}

/** The budgets of a key; the one that frees last comes first, because only its end helps. */
function budgetsOf(key: KeyState, periods: RunningPeriods) {
  const used = usedNow(key, periods);
  const { nextDayMs, nextWeekMs, nextMonthMs } = periods;
  return [
    {
      kind: 'keyTotalSpendLimitReached',
      capNano: key.totalSpendCapNano,
      spentNano: used.totalSpentNano,
      freesAtMs: null,
    },
    {
      kind: 'keyMonthlySpendLimitReached',
      capNano: key.monthlySpendCapNano,
      spentNano: used.monthSpentNano,
      freesAtMs: nextMonthMs,
    },
    {
      kind: 'keyWeeklySpendLimitReached',
      capNano: key.weeklySpendCapNano,
      spentNano: used.weekSpentNano,
      freesAtMs: nextWeekMs,
    },
    {
      kind: 'keySpendLimitReached',
      capNano: key.dailySpendCapNano,
      spentNano: used.spentNano,
      freesAtMs: nextDayMs,
    },
  ] as const;
}
