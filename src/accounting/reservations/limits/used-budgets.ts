import { budgetedModelOf, ownerIdOf } from '../../accounts/budget-ids.ts';
import { type CallerBudgetName, callerOfBudget } from '../../accounts/caller-budget-ids.ts';
import type { RunningPeriods } from '../../pricing/running-periods.ts';
import type { KeyState } from '../account-state.ts';
import type { ShownBudget } from '../reservation.ts';
import { allBudgets } from './key-budgets.ts';

/** A budget of a key, a member, an end user or a tag, and its use in the current period. */
export interface UsedBudget {
  readonly accountId: string;
  /** Key or user that the budget limits; for callers, their kind. */
  readonly ownerId: string;
  /** The model that the budget is for; `null`: all models together. */
  readonly model: string | null;
  /** The end user or the tag; `null`: the budget is of a key or a member. */
  readonly caller: CallerBudgetName | null;
  readonly period: ShownBudget['period'];
  readonly capNano: bigint;
  readonly spentNano: bigint;
  /** Share of the budget that is used, rounded down; above 100 if a call has overdrawn it. */
  readonly percent: number;
  /** Start of the current period; 0 for a total budget. */
  readonly beganAtMs: number;
  /** End of the current period; `null`: the budget is never renewed. */
  readonly freesAtMs: number | null;
}

/** Returns the share of a limit that is used, rounded down. A limit of 0 has no share. */
export function percentOf(usedNano: bigint, limitNano: bigint): number {
  return limitNano <= 0n || usedNano <= 0n ? 0 : Number((usedNano * 100n) / limitNano);
}

/** Returns the budgets of which at least a share is used. */
export function usedBudgets(row: KeyState, periods: RunningPeriods, percentMin: number): UsedBudget[] {
  const { accountId, keyId } = row;
  const began = {
    day: periods.dayBeganAtMs,
    week: periods.weekBeganAtMs,
    month: periods.monthBeganAtMs,
    total: 0,
  };
  return allBudgets(row, periods).flatMap(({ period, capNano, spentNano, freesAtMs }) => {
    const percent = capNano === null ? 0 : percentOf(spentNano, capNano);
    if (capNano === null || percent === 0 || percent < percentMin) return [];
    const caller = callerOfBudget(keyId);
    const owner = {
      accountId,
      ownerId: ownerIdOf(keyId),
      model: caller === null ? budgetedModelOf(keyId) : null,
      caller,
    };
    return [{ ...owner, period, capNano, spentNano, percent, beganAtMs: began[period], freesAtMs }];
  });
}
