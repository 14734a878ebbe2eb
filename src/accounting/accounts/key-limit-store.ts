import { type Lane, type Queryable, type Statement, toArray } from '../../db/database.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';

/** The SQL of the limits of keys as people set them. What is used of them is counted by `accounting/reservations/`. */

/** What a key may use; `null` means not limited. */
export interface KeyLimits {
  readonly dailySpendCapNano: bigint | null;
  readonly weeklySpendCapNano: bigint | null;
  readonly monthlySpendCapNano: bigint | null;
  readonly totalSpendCapNano: bigint | null;
  readonly dailyCallsMax: number | null;
  readonly concurrencyMax: number | null;
}

export const NO_LIMITS: KeyLimits = {
  dailySpendCapNano: null,
  weeklySpendCapNano: null,
  monthlySpendCapNano: null,
  totalSpendCapNano: null,
  dailyCallsMax: null,
  concurrencyMax: null,
};

/** Limits to set; what is absent stays as it is. */
export type KeyLimitChange = { readonly [Limit in keyof KeyLimits]?: KeyLimits[Limit] | undefined };

/** The columns of the limits, and their types. */
const COLUMNS = {
  dailySpendCapNano: 'daily_spend_cap_nano',
  weeklySpendCapNano: 'weekly_spend_cap_nano',
  monthlySpendCapNano: 'monthly_spend_cap_nano',
  totalSpendCapNano: 'total_spend_cap_nano',
  dailyCallsMax: 'daily_calls_max',
  concurrencyMax: 'concurrency_max',
} as const satisfies Record<keyof KeyLimits, string>;

const FIELDS = Object.keys(COLUMNS) as (keyof KeyLimits)[];
const NAMES = Object.values(COLUMNS).join(', ');

/** SQL: the limits of a row `l`. */
export const LIMITS_OF_L = Object.values(COLUMNS)
  .map((name) => `l.${name}`)
  .join(', ');

/**
 * Sets the limits that are named, in one statement, so that two changes of different limits both take effect. The parameters
 * from `$3` on are the limits, and after these, whether each is named.
 */
const changeLimits: Statement = {
  name: 'key-limits.change',
  text: `insert into key_limits as l (account_id, key_id, ${NAMES})
values ($1, $2, ${FIELDS.map((_field, i) => `$${i + 3}::bigint`).join(', ')})
on conflict (account_id, key_id) do update set
${FIELDS.map((field, i) => {
  const name = COLUMNS[field];
  return `  ${name} = case when $${i + 3 + FIELDS.length}::boolean then excluded.${name} else l.${name} end`;
}).join(',\n')}
returning key_id, ${NAMES}`,
};

/** By primary key, for the keys of one account. */
const selectLimits: Statement = {
  name: 'key-limits.select',
  text: `select key_id, ${NAMES} from key_limits where account_id = $1 and key_id = any ($2::text[])`,
};

/** SQL: whether a row `l` limits anything. */
export const IS_LIMITED = `coalesce(${LIMITS_OF_L}) is not null`;

/** A row of `key_limits`. */
export type LimitsRow = { readonly [Field in keyof KeyLimits as (typeof COLUMNS)[Field]]: bigint | null } & {
  readonly key_id: string;
};

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
  change: KeyLimitChange,
): Promise<KeyLimits> {
  const values = FIELDS.map((field) => change[field]);
  await lockAccount(transaction, accountId);
  const [row] = await transaction.query<LimitsRow>(changeLimits, [
    accountId,
    keyId,
    ...values.map((value) => value ?? null),
    ...values.map((value) => value !== undefined),
  ]);
  return toLimits(row!);
}

export function toLimits(row: LimitsRow): KeyLimits {
  return {
    dailySpendCapNano: row.daily_spend_cap_nano,
    weeklySpendCapNano: row.weekly_spend_cap_nano,
    monthlySpendCapNano: row.monthly_spend_cap_nano,
    totalSpendCapNano: row.total_spend_cap_nano,
    dailyCallsMax: row.daily_calls_max === null ? null : Number(row.daily_calls_max),
    concurrencyMax: row.concurrency_max === null ? null : Number(row.concurrency_max),
  };
}
