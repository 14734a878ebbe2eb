import type { ErrorKind } from '../../../errors/catalogue.ts';
import type { ModelBudget } from '../../accounts/key-limit-tables.ts';
import type { RunningPeriods } from '../../pricing/running-periods.ts';
import type { AccountState, KeyState } from '../account-state.ts';
import type { Refusal, ShownBudget } from '../reservation.ts';
import { beginPeriods, usedNow } from './key-day.ts';
import type { Limit } from './limit.ts';
import { type BudgetOwner, KEY, KEY_MODEL, MEMBER, MEMBER_MODEL, type OwnedCall } from './limited-owner.ts';

type BudgetKinds = Readonly<Record<ShownBudget['period'], ErrorKind>>;

/**
 * The limit for the budgets of a key or a member, for all models together or for the called one. Reservations count as spent. Calls on a plan
 * cost nothing and are not limited.
 */
const budgetsOf = ({ of, note, taken }: BudgetOwner, kinds: BudgetKinds, isOfModel = false): Limit => ({
  refuse(call, account, context) {
    const owner = of(call, account);
    if (call.isOnPlan || owner === null) return null;
    const named = isOfModel && call.request !== null ? { budgetModel: call.request.model } : NOT_NAMED;
    const reached = reachedBudget(allBudgets(owner, context), owner.reservedNano);
    return reached === null ? null : { kind: kinds[reached.period], retryAt: reached.retryAt, ...named };
  },
  take(request, account, reservation, context) {
    const owner = of(request, account);
    if (owner === null) return;
    beginPeriods(owner, context);
    const amountNano = request.amountNano ?? 0n;
    note(reservation, owner, amountNano);
    owner.reservedNano += amountNano;
  },
  free(reservation, { keyChargeNano }, account, periods) {
    const use = taken(reservation, account);
    if (use === null) return;
    use.owner.reservedNano -= use.amountNano;
    countKeySpending(use.owner, keyChargeNano, periods);
  },
});

const NOT_NAMED = {};

interface ReachedBudget extends Pick<Refusal, 'retryAt'> {
  readonly period: ShownBudget['period'];
}

/** Returns the budget that refuses a call: one that is used up, or else one that calls in flight have reserved; `null`: none. */
export function reachedBudget(budgets: ReturnType<typeof allBudgets>, reservedNano: bigint): ReachedBudget | null {
  let held: ReachedBudget | null = null;
  for (const { period, capNano, spentNano, freesAtMs } of budgets) {
    if (capNano === null || spentNano + reservedNano < capNano) continue;
    if (spentNano >= capNano) return { period, retryAt: freesAtMs };
    held ??= { period, retryAt: 'soon' };
  }
  return held;
}

/** Returns the budgets that response headers show. Reservations of calls in flight do not count as used. */
export function shownBudgets(call: OwnedCall, account: AccountState, periods: RunningPeriods): readonly ShownBudget[] {
  const shown: ShownBudget[] = [];
  for (const { owner, isOfMember, isOfModel } of OWNERS) {
    const state = owner.of(call, account);
    if (state === null) continue;
    for (const { period, capNano, spentNano } of allBudgets(state, periods)) {
      if (capNano !== null) shown.push({ isOfMember, isOfModel, period, capNano, spentNano });
    }
  }
  return shown;
}

const OWNERS = [
  { owner: KEY, isOfMember: false, isOfModel: false },
  { owner: MEMBER, isOfMember: true, isOfModel: false },
  { owner: KEY_MODEL, isOfMember: false, isOfModel: true },
  { owner: MEMBER_MODEL, isOfMember: true, isOfModel: true },
];

const KEY_KINDS: BudgetKinds = {
  total: 'keyTotalSpendLimitReached',
  month: 'keyMonthlySpendLimitReached',
  week: 'keyWeeklySpendLimitReached',
  day: 'keySpendLimitReached',
};
const MEMBER_KINDS: BudgetKinds = {
  total: 'memberTotalSpendLimitReached',
  month: 'memberMonthlySpendLimitReached',
  week: 'memberWeeklySpendLimitReached',
  day: 'memberSpendLimitReached',
};

export const keyBudgets = budgetsOf(KEY, KEY_KINDS);
export const memberBudgets = budgetsOf(MEMBER, MEMBER_KINDS);
export const keyModelBudgets = budgetsOf(KEY_MODEL, KEY_KINDS, true);
export const memberModelBudgets = budgetsOf(MEMBER_MODEL, MEMBER_KINDS, true);

/** Adds a charge to the budgets of a key, in the periods that are current when it is charged. */
export function countKeySpending(key: KeyState, chargeNano: bigint, periods: RunningPeriods): void {
  beginPeriods(key, periods);
  key.spentNano += chargeNano;
  key.weekSpentNano += chargeNano;
  key.monthSpentNano += chargeNano;
  key.totalSpentNano += chargeNano;
}

/** Returns what remains of the tightest budget, ignoring reservations of calls in flight; `null` if no budget is set. */
export function smallestBudgetLeft(key: KeyState, periods: RunningPeriods): bigint | null {
  return leastOf(allBudgets(key, periods).map(({ capNano, spentNano }) => leftOf(capNano, spentNano)));
}

export function leastOf(amounts: readonly (bigint | null)[]): bigint | null {
  const known = amounts.filter((nano) => nano !== null);
  return known.length === 0 ? null : known.reduce((least, nano) => (nano < least ? nano : least));
}

function leftOf(capNano: bigint | null, spentNano: bigint): bigint | null {
  if (capNano === null) return null;
  return spentNano < capNano ? capNano - spentNano : 0n;
}

/** The caps that budgets enforce. `key-limits.ts` enforces the others. */
export type BudgetCap = ReturnType<typeof allBudgets>[number]['cap'];

/**
 * Returns all budgets, the longest period first, because a refusal lasts until the period of its budget ends.
 *
 * @param caps the caps that apply, if they are not those of the row
 */
export function allBudgets(key: KeyState, periods: RunningPeriods, caps: ModelBudget = key) {
  const used = usedNow(key, periods);
  const { nextDayMs, nextWeekMs, nextMonthMs } = periods;
  const budget = <Cap extends keyof ModelBudget>(
    cap: Cap,
    period: ShownBudget['period'],
    spentNano: bigint,
    freesAtMs: number | null,
  ) => ({ cap, period, capNano: caps[cap], spentNano, freesAtMs });
  return [
    budget('totalSpendCapNano', 'total', used.totalSpentNano, null),
    budget('monthlySpendCapNano', 'month', used.monthSpentNano, nextMonthMs),
    budget('weeklySpendCapNano', 'week', used.weekSpentNano, nextWeekMs),
    budget('dailySpendCapNano', 'day', used.spentNano, nextDayMs),
  ];
}
