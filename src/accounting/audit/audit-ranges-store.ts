import type { Statement } from '../../db/database.ts';
import type { HomeQueryables } from '../../db/home-pools.ts';
import { booleanColumn, intColumn, orNull, selection, textColumn } from '../../db/table.ts';

/** This file divides the accounts into ranges. An audit reads each range in one snapshot. */

/** A range of account ids. `after` is exclusive, `upTo` is inclusive. */
export interface AccountRange {
  readonly after: string;
  readonly upTo: string;
}

/** SQL: whether a row belongs to an account in the range ($1, $2]. */
export const inRange = (row: string): string => `${row}.account_id > $1::text and ${row}.account_id <= $2::text`;

export interface RangeSize {
  readonly accountsMax: number;
  /** The range ends with the account at which it reaches this number of ledger entries. */
  readonly entriesMax: number;
}

const RANGES = selection({
  accounts: intColumn('accounts'),
  /** The last account of the range; `null`: no table has an account after $1. */
  upTo: orNull(
    textColumn(`case when is_last then (
  select max(account_id) from (
    ${['balances', 'ledger_entries', 'calls', 'reservations', 'subscriptions', 'key_limits']
      .map((table) => `(select account_id from ${table} where account_id > $1::text order by account_id desc limit 1)`)
      .join('\n    union all ')}
    union all select $4::text where $4::text > $1::text
  ) greatest_ids
) else last_id end as up_to`),
  ),
  isLast: booleanColumn('is_last'),
});

/** Selects at most $2 accounts with about $3 ledger entries. The last range also has accounts without a balance. Uses primary keys. */
const nextRange: Statement = {
  name: 'audit.next-range',
  text: `with candidates as materialized (
  select account_id, sum(last_entry_no) over (order by account_id) - last_entry_no as entries_before
  from (
    select account_id, last_entry_no from balances where account_id > $1::text order by account_id limit $2::int
  ) b
),
next as (
  select accounts, last_id, accounts < $2::int and accounts = (select count(*) from candidates) as is_last
  from (
    select count(*)::int as accounts, max(account_id) as last_id from candidates where entries_before < $3::bigint
  ) chosen
)
select ${RANGES.list} from next`,
};

const selectLastAccount: Statement = {
  name: 'audit.select-last-account',
  text: 'select id from accounts where partition_no = $1::int order by id desc limit 1',
};

/** Returns all ranges in the order of account ids. */
export async function* accountRanges(
  { directory, partition }: HomeQueryables,
  number: number,
  { accountsMax, entriesMax }: RangeSize,
): AsyncGenerator<AccountRange & { readonly accounts: number }> {
  const [last] = await directory.query<{ id: string }>(selectLastAccount, [number]);
  for (let after = ''; ; ) {
    const [row] = await partition.query(nextRange, [after, accountsMax, entriesMax, last?.id ?? '']);
    const { accounts, upTo, isLast } = RANGES.read(row!);
    if (upTo === null) return;
    yield { after, upTo, accounts };
    if (isLast) return;
    after = upTo;
  }
}
