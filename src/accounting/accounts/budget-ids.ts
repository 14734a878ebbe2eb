/** Names of the budgets of a key or a member for single models. Each is a row of `key_limits` (`key-limit-tables.ts`). */

/** Returns the `key_id` of the row. The space separates the ids, which contain none. */
export const budgetId = (ownerId: string, model: string): string => `${ownerId} ${model}`;

/** Returns the key or the user to whom a row of `key_limits` belongs. */
export const ownerIdOf = (keyId: string): string => keyId.split(' ', 1)[0]!;

/** Returns the model of a row of `key_limits`; `null`: the row is for all models together. */
export function budgetedModelOf(keyId: string): string | null {
  const at = keyId.indexOf(' ');
  return at === -1 ? null : keyId.slice(at + 1);
}

/** The budgets of a call for its model, end user and tags, as `key_id`. Those for all models are not included. */
export interface BudgetIds {
  /** For the called model; `null`: the key, or its member, has none. */
  readonly key: string | null;
  readonly member: string | null;
  /** Those of the end user and the tags (`caller-budget-ids.ts`); absent: none. */
  readonly callers?: readonly string[];
}

/** The models for which a key or a member has budgets. */
export interface BudgetedModels {
  readonly ownerId: string;
  /** Model ids at the time when the budgets were set. A renamed model has its old id as an alias. */
  readonly models: ReadonlySet<string>;
}

/** The budgets of a key and of its member; at least one of the two has some. */
export interface OwnersWithBudgets {
  readonly key: BudgetedModels | null;
  readonly member: BudgetedModels | null;
}

/** Combines the budgets of a key and its member; `null` if neither has any. */
export function ownersWithBudgets(key: BudgetedModels | null, member: BudgetedModels | null): OwnersWithBudgets | null {
  return (key ?? member) === null ? null : { key, member };
}

interface NamedModel {
  readonly id: string;
  readonly aliases: readonly string[];
}

/** Returns the budgets that a call of a model uses; `null` if neither the key nor the member has any for it. */
export function budgetIdsOf(owners: OwnersWithBudgets, model: NamedModel): BudgetIds | null {
  const key = idOf(owners.key, model);
  const member = idOf(owners.member, model);
  return (key ?? member) === null ? null : { key, member };
}

/** Returns the name of a model under which an owner has budgets: its id, or else the first alias that has some. */
export function budgetedName({ id, aliases }: NamedModel, has: (name: string) => boolean): string | null {
  if (has(id)) return id;
  return aliases.find(has) ?? null;
}

function idOf(owner: BudgetedModels | null, model: NamedModel): string | null {
  const name = owner === null ? null : budgetedName(model, (each) => owner.models.has(each));
  return name === null ? null : budgetId(owner!.ownerId, name);
}
