import { type Statement, type StoredRow, toArray } from '../../db/database.ts';
import type { PartitionLane, PartitionQueryable } from '../../db/home-lanes.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { type Routes, routedByAccount } from '../partitions/routes.ts';
import { type KeyLimits, LIMITS } from './key-limit-tables.ts';
import { announceChange } from './principal-change-store.ts';

/** The SQL of the limits of keys as people set them. What is used of them is counted by `accounting/reservations/`. */

const FIELDS = Object.keys(LIMITS.fields) as (keyof KeyLimits)[];

export const NO_LIMITS: KeyLimits = Object.fromEntries(FIELDS.map((field) => [field, null])) as Record<
  keyof KeyLimits,
  null
>;

/** Limits to set; what is absent stays as it is. */
export type KeyLimitChange = { readonly [Limit in keyof KeyLimits]?: KeyLimits[Limit] | undefined };

/** SQL: the limits of a row `l`. */
export const LIMITS_OF_L = LIMITS.of('l');

/**
 * Sets the limits that are named, in one statement, so that two changes of different limits both take effect. The parameters
 * from `$3` on are the limits, and after these, whether each is named.
 */
const changeLimits: Statement = {
  name: 'key-limits.change',
  text: `insert into key_limits as l (account_id, key_id, ${LIMITS.list})
values ($1, $2, ${LIMITS.parameters(3)})
on conflict (account_id, key_id) do update set
${LIMITS.names
  .map(
    (name, i) =>
      `  ${name} = case when $${i + 3 + LIMITS.names.length}::boolean then excluded.${name} else l.${name} end`,
  )
  .join(',\n')}
returning ${LIMITS.list}`,
};

/** By primary key, for the keys of one account. */
const selectLimits: Statement = {
  name: 'key-limits.select',
  text: `select key_id, ${LIMITS.list} from key_limits where account_id = $1 and key_id = any ($2::text[])`,
};

/** SQL: whether a row `l` limits anything. */
export const IS_LIMITED = `coalesce(${LIMITS_OF_L}) is not null`;

export interface KeyLimitStore {
  /**
   * Sets the limits that the change names, and returns all of them; `null` if there is no such account. Every node drops its cached
   * keys. Who asks knows that the key is there (`keys.ts`).
   */
  change(accountId: string, keyId: string, change: KeyLimitChange): Promise<KeyLimits | null>;
  /** The limits of those keys that have any. */
  find(accountId: string, keyIds: readonly string[]): Promise<ReadonlyMap<string, KeyLimits>>;
}

export function createKeyLimitStore(database: PartitionLane): KeyLimitStore {
  return {
    change: (accountId, keyId, change) =>
      database.transaction(async (transaction) => {
        if (!(await lockAccount(transaction, accountId))) return null;
        const limits = await setKeyLimits(transaction, accountId, keyId, change);
        await announceChange(transaction, accountId);
        return limits;
      }),
    async find(accountId, keyIds) {
      const rows = await database.query<StoredRow & { key_id: string }>(selectLimits, [accountId, toArray(keyIds)]);
      return new Map(rows.map((row) => [row.key_id, LIMITS.read(row)]));
    },
  };
}

/** In a transaction of its caller. */
export async function setKeyLimits(
  transaction: PartitionQueryable,
  accountId: string,
  keyId: string,
  change: KeyLimitChange,
): Promise<KeyLimits> {
  const values = FIELDS.map((field) => change[field]);
  await lockAccount(transaction, accountId);
  const rows = await transaction.query(changeLimits, [
    accountId,
    keyId,
    ...values.map((value) => value ?? null),
    ...values.map((value) => value !== undefined),
  ]);
  return LIMITS.read(rows[0]!);
}

/** Of all partitions. */
export const routedKeyLimits = (routes: Routes<KeyLimitStore>): KeyLimitStore =>
  routedByAccount(routes, { change: (accountId) => accountId, find: (accountId) => accountId });
