import { balance } from './balance.ts';
import { callerBudgets } from './caller-budgets.ts';
import { dailyCap } from './daily-cap.ts';
import { fiveHourWindow } from './five-hour-window.ts';
import { keyBudgets, keyModelBudgets, memberBudgets, memberModelBudgets } from './key-budgets.ts';
import { keyCalls, memberCalls } from './key-limits.ts';
import type { Limit } from './limit.ts';
import { minuteRates } from './minute-rates.ts';
import { planConcurrency } from './plan-concurrency.ts';
import { planTerms } from './plan-terms.ts';
import { tokenQuota } from './token-quota.ts';
import { weeklyWindow } from './weekly-window.ts';

/** All limits, in the order of precedence: a refusal names the first exhausted one. */
const LIMITS = {
  ofKey: [keyBudgets, keyCalls],
  ofMember: [memberBudgets, memberCalls],
  ofBudgetIds: [keyModelBudgets, memberModelBudgets, callerBudgets],
  ofBalance: [balance, dailyCap],
  ofPlan: [planTerms, fiveHourWindow, weeklyWindow, tokenQuota, planConcurrency],
  byMinute: [minuteRates],
} satisfies Readonly<Record<string, readonly Limit[]>>;

export const PLAN_LIMITS: readonly Limit[] = LIMITS.ofPlan;

const COMBINED = Array.from({ length: 32 }, (_, applies): readonly Limit[] => [
  ...(applies & 1 ? LIMITS.ofKey : []),
  ...(applies & 2 ? LIMITS.ofMember : []),
  ...(applies & 16 ? LIMITS.ofBudgetIds : []),
  ...(applies & 4 ? LIMITS.ofPlan : LIMITS.ofBalance),
  ...(applies & 8 ? LIMITS.byMinute : []),
]);

export function limitsOf(
  ofKey: boolean,
  ofMember: boolean,
  onPlan: boolean,
  byMinute: boolean,
  hasBudgetIds: boolean,
): readonly Limit[] {
  const applies =
    (ofKey ? 1 : 0) + (ofMember ? 2 : 0) + (onPlan ? 4 : 0) + (byMinute ? 8 : 0) + (hasBudgetIds ? 16 : 0);
  return COMBINED[applies]!;
}
