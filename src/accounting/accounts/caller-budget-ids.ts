import {
  type BudgetIds,
  budgetedModelOf,
  budgetId,
  budgetIdsOf,
  type OwnersWithBudgets,
  ownerIdOf,
} from './budget-ids.ts';
import type { RecordedCaller } from './recording.ts';

/**
 * Names of the budgets of end users and tags. Each is a row of `key_limits`. The row `endUser` or `tag` has the default budget, which applies
 * to each value without a budget of its own, and counts the calls of values beyond the daily maximum of rows. The row `endUser ann` counts
 * the calls of one value. Ids of keys and users differ from the kinds.
 */

export const CALLER_KINDS = ['endUser', 'tag'] as const;
export type CallerKind = (typeof CALLER_KINDS)[number];

/** A budget of callers: of one value or, with `null`, the default budget. */
export interface CallerBudgetName {
  readonly kind: CallerKind;
  readonly value: string | null;
}

export const callerBudgetId = ({ kind, value }: CallerBudgetName): string =>
  value === null ? kind : budgetId(kind, value);

const isKind = (ownerId: string): ownerId is CallerKind => (CALLER_KINDS as readonly string[]).includes(ownerId);

/** Returns the caller to whom a row of `key_limits` belongs; `null`: the row belongs to a key or a member. */
export function callerOfBudget(keyId: string): CallerBudgetName | null {
  const kind = ownerIdOf(keyId);
  return isKind(kind) ? { kind, value: budgetedModelOf(keyId) } : null;
}

/** SQL: the kinds as a list. */
export const CALLER_KINDS_SQL = CALLER_KINDS.map((kind) => `'${kind}'`).join(', ');

/** SQL: whether a row belongs to an end user or a tag. */
export const isOfCaller = (keyId: string): string => `split_part(${keyId}, ' ', 1) in (${CALLER_KINDS_SQL})`;

/** The values that have a budget: all, if there is a default budget, or those with a budget of their own; `null`: none. */
type BudgetedValues = 'all' | ReadonlySet<string> | null;

/** The end users and tags of an account that have budgets; at least one does. */
export type BudgetedCallers = Readonly<Record<CallerKind, BudgetedValues>>;

/** Returns the callers with budgets from the ids of rows; `null`: there are none. */
export function budgetedCallers(keyIds: readonly string[] | null): BudgetedCallers | null {
  if (keyIds === null || keyIds.length === 0) return null;
  const names = keyIds.map(callerOfBudget).filter((name) => name !== null);
  const valuesOf = (kind: CallerKind): BudgetedValues => {
    const values = names.filter((name) => name.kind === kind).map(({ value }) => value);
    if (values.length === 0) return null;
    return values.includes(null) ? 'all' : new Set(values.filter((value) => value !== null));
  };
  return { endUser: valuesOf('endUser'), tag: valuesOf('tag') };
}

interface CallerOfCall {
  readonly principal: {
    readonly modelBudgets: OwnersWithBudgets | null;
    readonly callerBudgets: BudgetedCallers | null;
  };
  readonly model: Parameters<typeof budgetIdsOf>[1];
  readonly caller: RecordedCaller | null;
}

/** Returns the budgets of a call for its model, its end user and its tags; `null`: it has none. */
export function budgetIdsOfCall({ principal, model, caller }: CallerOfCall): BudgetIds | null {
  const { modelBudgets, callerBudgets } = principal;
  const ofModel = modelBudgets === null ? null : budgetIdsOf(modelBudgets, model);
  if (callerBudgets === null || caller === null) return ofModel;
  const callers = callerBudgetIds(callerBudgets, caller);
  return callers.length === 0 ? ofModel : { key: null, member: null, ...ofModel, callers };
}

function callerBudgetIds(budgeted: BudgetedCallers, { endUser, tags }: RecordedCaller): string[] {
  const ids: string[] = [];
  if (endUser !== undefined && isBudgeted(budgeted.endUser, endUser)) ids.push(budgetId('endUser', endUser));
  for (const tag of tags ?? []) if (isBudgeted(budgeted.tag, tag)) ids.push(budgetId('tag', tag));
  return ids;
}

const isBudgeted = (values: BudgetedValues, value: string): boolean =>
  values !== null && (values === 'all' || values.has(value));
