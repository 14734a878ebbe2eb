import type { RunningPeriods } from '../pricing/running-periods.ts';
import type { AccountState } from './account-state.ts';
import { limitsOf } from './limits/all.ts';
import type { CallUse, ReservedLimits } from './reservation.ts';

export const NO_USE: CallUse = { counts: false, tokens: 0, keyChargeNano: 0n, rateTokens: 0 };

/** Frees a reservation: every limit gives back what was reserved and counts what was used. Changes `account`. */
export function freeReservation(
  reservation: ReservedLimits,
  use: CallUse,
  account: AccountState,
  periods: RunningPeriods,
): void {
  const { keyDayNo, memberId, subscriptionId, rateTokens, keyBudgetId, memberBudgetId, callerBudgetIds } = reservation;
  const hasBudgets = (keyBudgetId ?? memberBudgetId ?? callerBudgetIds) !== null;
  const isOnPlan = subscriptionId !== null;
  const limits = limitsOf(keyDayNo !== null, memberId !== null, isOnPlan, rateTokens !== null, hasBudgets);
  for (const limit of limits) limit.free?.(reservation, use, account, periods);
}
