import { type Lane, type Queryable, type Statement, toArray } from '../../db/database.ts';

/** The SQL of the limits of keys as people set them. What is used of them is counted by `accounting/reservations/`. */

/** What a key may use; `null` means not limited. */
export interface KeyLimits {
  readonly dailySpendCapNano: bigint | null;
  readonly dailyCallsMax: number | null;
  readonly concurrencyMax: number | null;
}

export const NO_LIMITS: KeyLimits = { dailySpendCapNano: null, dailyCallsMax: null, concurrencyMax: null };

/** Limits to set; what is absent stays as it is. */
export type KeyLimitChange = { readonly [Limit in keyof KeyLimits]?: KeyLimits[Limit] | undefined };

/** A transaction that changes anything of an account locks its row of `balances` first. Plan: primary key. */
const lockAccount: Statement = {
  name: 'key-limits.lock-account',
  text: 'select from balances where account_id = $1 for update',
};

/** Sets the limits that are named, in one statement, so that two changes of different limits both take effect. */
const changeLimits: Statement = {
  name: 'key-limits.change',
  text: `insert into key_limits as l (account_id, key_id, daily_spend_cap_nano, daily_calls_max, concurrency_max)
values ($1, $2, $3::bigint, $4::bigint, $5::bigint)
on conflict (account_id, key_id) do update set
  daily_spend_cap_nano = case when $6::boolean then excluded.daily_spend_cap_nano else l.daily_spend_cap_nano end,
  daily_calls_max = case when $7::boolean then excluded.daily_calls_max else l.daily_calls_max end,
  concurrency_max = case when $8::boolean then excluded.concurrency_max else l.concurrency_max end
returning key_id, daily_spend_cap_nano, daily_calls_max, concurrency_max`,
};

/** By primary key, for the keys of one account. */
const selectLimits: Statement = {
  name: 'key-limits.select',
  text: `select key_id, daily_spend_cap_nano, daily_calls_max, concurrency_max from key_limits
where account_id = $1 and key_id = any ($2::text[])`,
};

interface LimitsRow {
  key_id: string;
  daily_spend_cap_nano: bigint | null;
  daily_calls_max: bigint | null;
  concurrency_max: bigint | null;
}

export interface KeyLimitStore {
  /** Sets the limits that the change names, and returns all of them. */
  change(accountId: string, keyId: string, change: KeyLimitChange): Promise<KeyLimits>;
  /** The limits of those keys that have any. */
  find(accountId: string, keyIds: readonly string[]): Promise<ReadonlyMap<string, KeyLimits>>;
}

export function createKeyLimitStore(database: Lane): KeyLimitStore {
  return {
    change: (accountId, keyId, change) =>
      database.transaction((transaction) => setKeyLimits(transaction, accountId, keyId, change)),
    async find(accountId, keyIds) {
      const rows = await database.query<LimitsRow>(selectLimits, [accountId, toArray(keyIds)]);
      return new Map(rows.map((row) => [row.key_id, toLimits(row)]));
    },
  };
}

/** In a transaction of its caller, such as the one that creates the key. */
export async function setKeyLimits(
  transaction: Queryable,
  accountId: string,
  keyId: string,
  { dailySpendCapNano, dailyCallsMax, concurrencyMax }: KeyLimitChange,
): Promise<KeyLimits> {
  const values = [dailySpendCapNano, dailyCallsMax, concurrencyMax];
  await transaction.query(lockAccount, [accountId]);
  const [row] = await transaction.query<LimitsRow>(changeLimits, [
    accountId,
    keyId,
    ...values.map((value) => value ?? null),
    ...values.map((value) => value !== undefined),
  ]);
  return toLimits(row!);
}

function toLimits(row: LimitsRow): KeyLimits {
  return {
    dailySpendCapNano: row.daily_spend_cap_nano,
    dailyCallsMax: row.daily_calls_max === null ? null : Number(row.daily_calls_max),
    concurrencyMax: row.concurrency_max === null ? null : Number(row.concurrency_max),
  };
}
