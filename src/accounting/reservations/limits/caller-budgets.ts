import type { ErrorKind } from '../../../errors/catalogue.ts';
import { callerOfBudget } from '../../accounts/caller-budget-ids.ts';
import { hasBudget } from '../../accounts/key-limit-tables.ts';
import type { RunningPeriods } from '../../pricing/running-periods.ts';
import type { AccountState, KeyState } from '../account-state.ts';
import type { Refusal, ShownBudget } from '../reservation.ts';
import { allBudgets, countKeySpending, reachedBudget } from './key-budgets.ts';
import { beginPeriods, usedNow } from './key-day.ts';
import type { Limit } from './limit.ts';

/**
 * Maximum number of end users, and of tags, that get a row of their own per day under a default budget. Callers choose the values, so an
 * account could otherwise get a row from each call. Further values of the day share the row and the amount of the default budget
 * (`docs/decisions/0084-budgets-of-callers.md`).
 */
export const CALLER_ROWS_A_DAY_MAX = 1_000;

/** A row with its caps: its own, or else those of the default budget. */
interface CallerBudget {
  readonly row: KeyState;
  readonly caps: KeyState;
  /** Whether the row does not exist yet. An admission creates it. */
  readonly isNew: boolean;
}

/** Limits what the calls of an end user, and of a tag, may cost. Reservations count as spent. Calls on a plan are not limited. */
export const callerBudgets: Limit = {
  refuse({ budgetIds, isOnPlan }, account, context) {
    if (isOnPlan || budgetIds?.callers === undefined) return null;
    let held: Refusal | null = null;
    for (const id of budgetIds.callers) {
      const budget = budgetOf(id, account, context);
      if (budget === null) continue;
      const { row, caps } = budget;
      const reached = reachedBudget(allBudgets(row, context, caps), row.reservedNano);
      if (reached === null) continue;
      const { kind, value } = callerOfBudget(id)!;
      const budgetCaller = { kind, value: value!, isShared: row.keyId !== id };
      const refusal = { kind: KINDS[reached.period], retryAt: reached.retryAt, budgetCaller };
      if (reached.retryAt !== 'soon') return refusal;
      held ??= refusal;
    }
    return held;
  },
  take({ budgetIds, amountNano }, account, reservation, context) {
    if (budgetIds?.callers === undefined) return;
    const taken = new Set<string>();
    for (const id of budgetIds.callers) {
      const budget = budgetOf(id, account, context);
      // Several tags can share a row, which counts the call once.
      if (budget === null || taken.has(budget.row.keyId)) continue;
      const { row, isNew } = budget;
      if (isNew) addRow(row, account, context);
      beginPeriods(row, context);
      row.reservedNano += amountNano ?? 0n;
      taken.add(row.keyId);
    }
    if (taken.size > 0) reservation.callerBudgetIds = [...taken];
  },
  free({ callerBudgetIds, amountNano }, { keyChargeNano }, { keys }, periods) {
    for (const id of callerBudgetIds ?? []) {
      const row = keys.get(id);
      if (row === undefined) continue;
      row.reservedNano -= amountNano ?? 0n;
      countKeySpending(row, keyChargeNano, periods);
    }
  },
};

/** Total budgets do not exist, because rows that are no longer used are deleted. */
const KINDS: Readonly<Record<ShownBudget['period'], ErrorKind>> = {
  total: 'callerMonthlySpendLimitReached',
  month: 'callerMonthlySpendLimitReached',
  week: 'callerWeeklySpendLimitReached',
  day: 'callerSpendLimitReached',
};

/** Returns the rows that count a charge whose reservation no longer exists. A value without a row counts in the shared one. */
export function rowsOfCallers(ids: readonly string[], { keys }: AccountState): KeyState[] {
  const rows = ids.map((id) => keys.get(id) ?? keys.get(callerOfBudget(id)!.kind));
  return [...new Set(rows.filter((row) => row !== undefined))];
}

/** Returns the budget that applies to a value; `null`: none. */
function budgetOf(id: string, { accountId, keys }: AccountState, periods: RunningPeriods): CallerBudget | null {
  const usual = keys.get(callerOfBudget(id)!.kind);
  const row = keys.get(id);
  if (row !== undefined) return { row, caps: hasBudget(row) ? row : (usual ?? row), isNew: false };
  if (usual === undefined || !hasBudget(usual)) return null;
  const isFull = usedNow(usual, periods).calls >= CALLER_ROWS_A_DAY_MAX;
  return isFull
    ? { row: usual, caps: usual, isNew: false }
    : { row: unusedRow(accountId, id), caps: usual, isNew: true };
}

/** Adds a row. The daily calls of the default budget's row are the number of rows that were added. */
function addRow(row: KeyState, { keys }: AccountState, periods: RunningPeriods): void {
  const usual = keys.get(callerOfBudget(row.keyId)!.kind)!;
  beginPeriods(usual, periods);
  usual.calls++;
  keys.set(row.keyId, row);
}

const unusedRow = (accountId: string, keyId: string): KeyState => ({ accountId, keyId, ...UNUSED });

const UNUSED = {
  dailySpendCapNano: null,
  weeklySpendCapNano: null,
  monthlySpendCapNano: null,
  totalSpendCapNano: null,
  dailyCallsMax: null,
  concurrencyMax: null,
  dayBeganAtMs: 0,
  dayNo: 0,
  weekBeganAtMs: 0,
  weekNo: 0,
  monthBeganAtMs: 0,
  monthNo: 0,
  spentNano: 0n,
  weekSpentNano: 0n,
  monthSpentNano: 0n,
  totalSpentNano: 0n,
  calls: 0,
  reservedNano: 0n,
  inFlight: 0,
  useNo: 0,
};
