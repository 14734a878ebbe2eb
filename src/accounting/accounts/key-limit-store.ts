import { type Statement, type StoredRow, toArray } from '../../db/database.ts';
import type { PartitionPool, PartitionQueryable } from '../../db/home-pools.ts';
import type { TableColumns } from '../../db/table.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { queueAccountChange } from '../ledger/changed-account-store.ts';
import { itself, type Routes, routedByAccount } from '../partitions/routes.ts';
import { type KeyLimits, LIMITS, MEMBER_LIMITS, type MemberLimits } from './key-limit-tables.ts';
import { type ModelBudgetChange, setModelBudgets } from './model-budget-store.ts';
import { announceChange } from './principal-change-store.ts';

/** This file stores the limits that users set for keys and members. `accounting/reservations/` counts their use. */

const noneOf = <Limits extends object>({ fields }: TableColumns<Limits>): Limits =>
  Object.fromEntries(Object.keys(fields).map((field) => [field, null])) as Limits;

export const NO_LIMITS: KeyLimits = noneOf(LIMITS);
export const NO_MEMBER_LIMITS: MemberLimits = noneOf(MEMBER_LIMITS);

type ChangeOf<Limits> = { readonly [Limit in keyof Limits]?: Limits[Limit] | undefined };
export type KeyLimitChange = ChangeOf<KeyLimits>;

export const IS_LIMITED = `coalesce(${LIMITS.of('l')}) is not null`;

interface LimitStore<Limits> {
  /**
   * Changes limits and returns all of them; `null` if the account does not exist. The caller must have checked that the owner exists.
   * @throws TooManyBudgetsError
   */
  change(
    accountId: string,
    ownerId: string,
    change: ChangeOf<Limits>,
    budgets?: readonly ModelBudgetChange[],
  ): Promise<Limits | null>;
  /** Returns limits by owner id. Owners without a row are absent. */
  find(accountId: string, ownerIds: readonly string[]): Promise<ReadonlyMap<string, Limits>>;
}

export type KeyLimitStore = LimitStore<KeyLimits>;

export type MemberLimitStore = LimitStore<MemberLimits>;

function limitsOf<Limits extends object>(name: string, columns: TableColumns<Limits>) {
  const { fields, list, names } = columns;
  /** One statement, so that concurrent changes both take effect. From $3 on: the limits, then flags that select which to set. */
  const changeLimits: Statement = {
    name: `${name}.change`,
    text: `insert into key_limits as l (account_id, key_id, ${names.join(', ')})
values ($1, $2, ${columns.parameters(3)})
on conflict (account_id, key_id) do update set
${names
  .map(
    (column, i) =>
      `  ${column} = case when $${i + 3 + names.length}::boolean then excluded.${column} else l.${column} end`,
  )
  .join(',\n')}`,
  };

  const selectLimits: Statement = {
    name: `${name}.select`,
    text: `select key_id, ${list} from key_limits where account_id = $1 and key_id = any ($2::text[])`,
  };

  async function set(
    transaction: PartitionQueryable,
    accountId: string,
    ownerId: string,
    change: ChangeOf<Limits>,
  ): Promise<Limits> {
    const values = (Object.keys(fields) as (keyof Limits)[]).map((field) => change[field]);
    const given = Object.fromEntries(Object.keys(fields).map((field, i) => [field, values[i] ?? null])) as Limits;
    await lockAccount(transaction, accountId);
    await transaction.query(changeLimits, [
      accountId,
      ownerId,
      ...columns.valuesOf(given),
      ...values.map((value) => value !== undefined),
    ]);
    // A separate query, because in `returning` Citus does not allow the function that reads lists.
    const rows = await transaction.query(selectLimits, [accountId, toArray([ownerId])]);
    return columns.read(rows[0]!);
  }

  return {
    set,
    store: (database: PartitionPool): LimitStore<Limits> => ({
      change: (accountId, ownerId, change, budgets = []) =>
        database.transaction(async (transaction) => {
          if (!(await lockAccount(transaction, accountId))) return null;
          const limits = await set(transaction, accountId, ownerId, change);
          if (budgets.length > 0) await setModelBudgets(transaction, { accountId, ownerId }, budgets);
          await queueAccountChange(transaction, accountId);
          await announceChange(transaction, accountId);
          return limits;
        }),
      async find(accountId, ownerIds) {
        const rows = await database.query<StoredRow & { key_id: string }>(selectLimits, [accountId, toArray(ownerIds)]);
        return new Map(rows.map((row) => [row.key_id, columns.read(row)]));
      },
    }),
  };
}

export const { set: setKeyLimits, store: createKeyLimitStore } = limitsOf('key-limits', LIMITS);
export const { store: createMemberLimitStore } = limitsOf('member-limits', MEMBER_LIMITS);

export const routedLimits = <Limits>(routes: Routes<LimitStore<Limits>>): LimitStore<Limits> =>
  routedByAccount(routes, { change: itself, find: itself });
