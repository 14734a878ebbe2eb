import { columnsOf } from '../../db/columns.ts';
import { type Statement, toArray } from '../../db/database.ts';
import type { PartitionPool, PartitionQueryable } from '../../db/home-pools.ts';
import { selection, textColumn } from '../../db/table.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { accountIdOf, mapByPartition, type Routes } from '../partitions/routes.ts';
import { budgetedName, budgetId } from './budget-ids.ts';
import { MODEL_BUDGET, type ModelBudget } from './key-limit-tables.ts';

/** This file stores the budgets of keys and members for single models. `accounting/reservations/` counts their use. */

/** Budgets by the model id under which they are stored. */
export type ModelBudgets = ReadonlyMap<string, ModelBudget>;

export const NO_MODEL_BUDGETS: ModelBudgets = new Map();
export const NO_BUDGET: ModelBudget = {
  dailySpendCapNano: null,
  weeklySpendCapNano: null,
  monthlySpendCapNano: null,
  totalSpendCapNano: null,
};

/** Maximum number of models for which a key or a member has budgets. */
export const BUDGETED_MODELS_MAX = 20;

export interface ModelBudgetChange {
  readonly model: { readonly id: string; readonly aliases: readonly string[] };
  /** `null` removes a budget; an absent field leaves it unchanged. */
  readonly caps: { readonly [Cap in keyof ModelBudget]?: ModelBudget[Cap] | undefined };
}

export class TooManyBudgetsError extends Error {}

const STORED = selection({ ownerId: textColumn('owner_id'), model: textColumn('model'), budget: MODEL_BUDGET });

/** Selects the budgets of owners. Uses key_limits_by_owner. */
const selectBudgets: Statement = {
  name: 'model-budgets.select',
  text: `select ${STORED.list} from key_limits
where account_id = any ($1::text[]) and owner_id = any ($2::text[]) and coalesce(${MODEL_BUDGET.list}) is not null
order by model`,
};

/** Sets budgets. A row without budgets is kept, because charges and reservations refer to its counts. */
const writeBudgets: Statement = {
  name: 'model-budgets.write',
  text: `insert into key_limits (account_id, key_id, owner_id, model, ${MODEL_BUDGET.list})
select $1::text, v.key_id, $2::text, v.model, ${MODEL_BUDGET.of('v')}
from unnest($3::text[], $4::text[], ${MODEL_BUDGET.columns.map(({ type }, i) => `$${i + 5}::${type}[]`).join(', ')})
  as v (key_id, model, ${MODEL_BUDGET.list})
on conflict (account_id, key_id) do update set
  ${MODEL_BUDGET.names.map((name) => `${name} = excluded.${name}`).join(', ')}`,
};

export type ModelBudgetStore = ReturnType<typeof createModelBudgetStore>;

interface BudgetOwner {
  readonly accountId: string;
  readonly ownerId: string;
}

export const createModelBudgetStore = (database: PartitionPool) => ({
  /** Returns budgets by the id of the key or the user. Owners without budgets are absent. */
  find: (owners: readonly BudgetOwner[]): Promise<ReadonlyMap<string, ModelBudgets>> => readBudgets(database, owners),
});

export const routedModelBudgets = (routes: Routes<ModelBudgetStore>): ModelBudgetStore => ({
  find: (owners) => mapByPartition(routes, owners, accountIdOf, (store, those) => store.find(those)),
});

/** Changes budgets and returns all of the owner. The caller must have checked that the owner exists. @throws TooManyBudgetsError */
export async function setModelBudgets(
  transaction: PartitionQueryable,
  owner: BudgetOwner,
  changes: readonly ModelBudgetChange[],
): Promise<ModelBudgets> {
  const { accountId, ownerId } = owner;
  await lockAccount(transaction, accountId);
  const read = async () => (await readBudgets(transaction, [owner])).get(ownerId) ?? NO_MODEL_BUDGETS;
  const budgets = changedBudgets(await read(), changes);
  if (budgets.size === 0) return read();
  const written = columnsOf(
    [...budgets],
    ([model]) => budgetId(ownerId, model),
    ([model]) => model,
    ...(Object.keys(NO_BUDGET) as (keyof ModelBudget)[]).map(
      (cap) =>
        ([, budget]: [string, ModelBudget]) =>
          budget[cap],
    ),
  );
  await transaction.query(writeBudgets, [accountId, ownerId, ...written]);
  const all = await read();
  if (all.size > BUDGETED_MODELS_MAX) throw new TooManyBudgetsError();
  return all;
}

/**
 * Returns the rows to write. A renamed model, whose old id is an alias, keeps the row with its usage; if a model replaces several, the budgets
 * under its other names end.
 */
export function changedBudgets(
  stored: ModelBudgets,
  changes: readonly ModelBudgetChange[],
): ReadonlyMap<string, ModelBudget> {
  const written = new Map<string, ModelBudget>();
  for (const { model, caps } of changes) {
    const name = budgetedName(model, (each) => stored.has(each)) ?? model.id;
    for (const other of [model.id, ...model.aliases]) {
      if (other !== name && stored.has(other)) written.set(other, NO_BUDGET);
    }
    const budget = { ...(written.get(name) ?? stored.get(name) ?? NO_BUDGET), ...withoutAbsent(caps) };
    const isNew = !stored.has(name) && Object.values(budget).every((cap) => cap === null);
    if (!isNew) written.set(name, budget);
  }
  return written;
}

const withoutAbsent = (caps: ModelBudgetChange['caps']): Partial<ModelBudget> =>
  Object.fromEntries(Object.entries(caps).filter(([, cap]) => cap !== undefined));

async function readBudgets(
  queryable: PartitionQueryable,
  owners: readonly BudgetOwner[],
): Promise<ReadonlyMap<string, ModelBudgets>> {
  if (owners.length === 0) return new Map();
  const accountIds = [...new Set(owners.map(accountIdOf))];
  const ownerIds = owners.map(({ ownerId }) => ownerId);
  const rows = STORED.all(await queryable.query(selectBudgets, [toArray(accountIds), toArray(ownerIds)]));
  return new Map(
    [...Map.groupBy(rows, ({ ownerId }) => ownerId)].map(([ownerId, own]) => [
      ownerId,
      new Map(own.map(({ model, budget }) => [model, budget])),
    ]),
  );
}
