import { type Statement, type StoredRow, toArray } from '../../db/database.ts';
import type { PartitionLane, PartitionQueryable } from '../../db/home-lanes.ts';
import type { TableColumns } from '../../db/table.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { itself, type Routes, routedByAccount } from '../partitions/routes.ts';
import { type KeyLimits, LIMITS, MEMBER_LIMITS, type MemberLimits } from './key-limit-tables.ts';
import { announceChange } from './principal-change-store.ts';

/** The SQL of the limits of keys, and of the people of accounts, as people set them. What is used of them is counted by `accounting/reservations/`. */

const noneOf = <Limits extends object>({ fields }: TableColumns<Limits>): Limits =>
  Object.fromEntries(Object.keys(fields).map((field) => [field, null])) as Limits;

export const NO_LIMITS: KeyLimits = noneOf(LIMITS);
export const NO_MEMBER_LIMITS: MemberLimits = noneOf(MEMBER_LIMITS);

/** Limits to set; what is absent stays as it is. */
type ChangeOf<Limits> = { readonly [Limit in keyof Limits]?: Limits[Limit] | undefined };
export type KeyLimitChange = ChangeOf<KeyLimits>;

/** SQL: whether a row `l` limits anything. */
export const IS_LIMITED = `coalesce(${LIMITS.of('l')}) is not null`;

interface LimitStore<Limits> {
  /**
   * Sets the limits that the change names, and returns all of them; `null` if there is no such account. Every node drops its cached
   * keys. Who asks knows that the key or the person is there.
   */
  change(accountId: string, ownerId: string, change: ChangeOf<Limits>): Promise<Limits | null>;
  /** The limits of those keys, or people, that have any. */
  find(accountId: string, ownerIds: readonly string[]): Promise<ReadonlyMap<string, Limits>>;
}

/** Of keys (`keys.ts`). */
export type KeyLimitStore = LimitStore<KeyLimits>;

/** Of people, over all keys of each. */
export type MemberLimitStore = LimitStore<MemberLimits>;

/** The statements of one kind of owners. */
function limitsOf<Limits extends object>(name: string, columns: TableColumns<Limits>) {
  const { fields, list, names } = columns;
  /**
   * Sets the limits that are named, in one statement, so that two changes of different limits both take effect. The parameters
   * from `$3` on are the limits, and after these, whether each is named.
   */
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

  /** By primary key, for owners of one account. */
  const selectLimits: Statement = {
    name: `${name}.select`,
    text: `select key_id, ${list} from key_limits where account_id = $1 and key_id = any ($2::text[])`,
  };

  /** In a transaction of its caller. */
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
    // Not by `returning`: on Citus a function of lists may not be there.
    const rows = await transaction.query(selectLimits, [accountId, toArray([ownerId])]);
    return columns.read(rows[0]!);
  }

  return {
    set,
    store: (database: PartitionLane): LimitStore<Limits> => ({
      change: (accountId, ownerId, change) =>
        database.transaction(async (transaction) => {
          if (!(await lockAccount(transaction, accountId))) return null;
          const limits = await set(transaction, accountId, ownerId, change);
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

/** Of all partitions. */
export const routedLimits = <Limits>(routes: Routes<LimitStore<Limits>>): LimitStore<Limits> =>
  routedByAccount(routes, { change: itself, find: itself });
