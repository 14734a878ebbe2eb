import { columnsOf, fieldsOf } from '../../db/columns.ts';
import type { Parameter, SqlValue, Statement } from '../../db/database.ts';
import type { HomeQueryables, PartitionedQueryables } from '../../db/home-lanes.ts';
import { partAt } from '../partitions/routes.ts';
import type { FoundBreach, FoundIn } from './audit-findings.ts';
import type { AccountRange } from './audit-slices-store.ts';

/**
 * The SQL that compares redeemed vouchers with what they gave. The two have different homes, so no statement reads both. One
 * transaction inserts both, and neither changes then: what one statement has found has its other side whenever a later statement looks.
 */

/**
 * Redemptions with what their vouchers give, and the partitions of their accounts: $3 rows at most, behind one ($1, $2). Plans:
 * voucher_redemptions_by_account, primary keys.
 */
const sliceRedemptions: Statement = {
  name: 'audit.slice-redemptions',
  text: `select r.account_id, encode(r.code_hash, 'hex') as code_hash, r.id, r.entry_no, r.subscription_id, b.amount_nano, b.plan_id,
  a.partition_no::int as partition
from (
  select * from voucher_redemptions where (account_id, code_hash) > ($1::text, decode($2::text, 'hex'))
  order by account_id, code_hash limit $3::int
) r
join accounts a on a.id = r.account_id
left join vouchers v on v.code_hash = r.code_hash
left join voucher_batches b on b.id = v.batch_id and b.id = r.batch_id
order by r.account_id, r.code_hash`,
};

/** Those that lack their entry of their value, or their subscription. Each is looked up by itself. Plans: primary keys. */
const findUnpaid: Statement = {
  name: 'audit.find-unpaid-redemptions',
  text: `select 'vouchers' as invariant, v.account_id, 'voucher ' || v.id || case when v.subscription_id is null
  then ', value ' || coalesce(v.amount_nano::text, 'none') || ', entry ' || coalesce(e.amount_nano::text, 'none')
  else ', subscription ' || v.subscription_id end as detail
from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::text[])
  as v (account_id, code_hash, id, entry_no, subscription_id, amount_nano, plan_id)
left join lateral (
  select kind, amount_nano, idempotency_key from ledger_entries
  where account_id = v.account_id and entry_no = v.entry_no and idempotency_key like 'voucher %' limit 1
) e on true
left join lateral (
  select plan_id from subscriptions where account_id = v.account_id and id = v.subscription_id limit 1
) s on true
where case when v.subscription_id is null
  then e.kind is null or e.kind <> 'top_up' or e.amount_nano is distinct from v.amount_nano
    or e.idempotency_key <> 'voucher ' || v.code_hash
  else s.plan_id is null or s.plan_id is distinct from v.plan_id end`,
};

/** Entries of vouchers of the accounts behind $1, up to $2: $5 rows at most, behind one ($3, $4). Plan: ledger_voucher_entries. */
const sliceEntries: Statement = {
  name: 'audit.slice-voucher-entries',
  text: `select account_id, entry_no, amount_nano, substr(idempotency_key, length('voucher ') + 1) as code_hash
from ledger_entries
where account_id > $1::text and account_id <= $2::text and idempotency_key like 'voucher %'
  and (account_id, entry_no) > ($3::text, $4::bigint)
order by account_id, entry_no limit $5::int`,
};

/** Those that lack their redemption. Plan: primary key. */
const findUnredeemed: Statement = {
  name: 'audit.find-unredeemed-entries',
  text: `select 'vouchers' as invariant, v.account_id, 'entry ' || v.entry_no || ', value none, entry ' || v.amount_nano as detail
from unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) as v (account_id, entry_no, amount_nano, code_hash)
left join lateral (
  select account_id, entry_no from voucher_redemptions where code_hash = decode(v.code_hash, 'hex') limit 1
) r on true
where r.account_id is distinct from v.account_id or r.entry_no is distinct from v.entry_no`,
};

/** Periods that vouchers have granted to the accounts behind $1, up to $2: $5 rows at most, behind one ($3, $4). Plan: primary key. */
const sliceGrants: Statement = {
  name: 'audit.slice-voucher-grants',
  text: `select account_id, idempotency_key, subscription_id, substr(idempotency_key, length('voucher ') + 1) as code_hash
from subscription_requests
where account_id > $1::text and account_id <= $2::text and idempotency_key like 'voucher %'
  and (account_id, idempotency_key) > ($3::text, $4::text)
order by account_id, idempotency_key limit $5::int`,
};

/** Those that lack their redemption. Plan: primary key. */
const findUnredeemedGrants: Statement = {
  name: 'audit.find-unredeemed-grants',
  text: `select 'vouchers' as invariant, v.account_id, 'subscription ' || v.subscription_id || ', voucher none' as detail
from unnest($1::text[], $2::text[], $3::text[]) as v (account_id, subscription_id, code_hash)
left join lateral (
  select account_id, subscription_id from voucher_redemptions where code_hash = decode(v.code_hash, 'hex') limit 1
) r on true
where r.account_id is distinct from v.account_id or r.subscription_id is distinct from v.subscription_id`,
};

interface RedemptionRow {
  account_id: string;
  code_hash: string;
  id: string;
  entry_no: bigint | null;
  subscription_id: string | null;
  amount_nano: bigint | null;
  plan_id: string | null;
  partition: number;
}

interface EntryRow {
  account_id: string;
  entry_no: bigint;
  amount_nano: bigint;
  code_hash: string;
}

interface GrantRow {
  account_id: string;
  idempotency_key: string;
  subscription_id: string;
  code_hash: string;
}

/** What each slice of redemptions found, of all accounts, each in the partition of its own. */
export async function* auditRedemptions(
  { directory, partitions }: PartitionedQueryables,
  rowsMax: number,
): AsyncGenerator<FoundIn> {
  for (let last = { account_id: '', code_hash: '' }, isMore = true; isMore; ) {
    const rows = await directory.query<RedemptionRow>(sliceRedemptions, [last.account_id, last.code_hash, rowsMax]);
    for (const [partition, those] of Map.groupBy(rows, (row) => row.partition)) {
      const columns = fieldsOf(
        those,
        'account_id',
        'code_hash',
        'id',
        'entry_no',
        'subscription_id',
        'amount_nano',
        'plan_id',
      );
      yield { partition, breaches: await partAt(partitions, partition).query<FoundBreach>(findUnpaid, columns) };
    }
    last = rows.at(-1) ?? last;
    isMore = rows.length === rowsMax;
  }
}

/** What each slice of a range of a partition found: entries of vouchers first, then periods. */
export async function* auditGifts(
  tables: HomeQueryables,
  range: AccountRange,
  rowsMax: number,
): AsyncGenerator<readonly FoundBreach[]> {
  yield* unredeemed<EntryRow>(tables, range, rowsMax, {
    slice: sliceEntries,
    placeOf: (last) => last?.entry_no ?? 0n,
    find: findUnredeemed,
    columns: [(row) => row.account_id, (row) => row.entry_no, (row) => row.amount_nano, hexOf],
  });
  yield* unredeemed<GrantRow>(tables, range, rowsMax, {
    slice: sliceGrants,
    placeOf: (last) => last?.idempotency_key ?? '',
    find: findUnredeemedGrants,
    columns: [(row) => row.account_id, (row) => row.subscription_id, hexOf],
  });
}

/** What vouchers have given: its slices, behind a place in an account, and what finds those that lack their redemption. */
interface Gifts<Row> {
  readonly slice: Statement;
  readonly placeOf: (last: Row | null) => string | bigint;
  readonly find: Statement;
  readonly columns: readonly ((row: Row) => SqlValue)[];
}

async function* unredeemed<Row extends { readonly account_id: string }>(
  { directory, partition }: HomeQueryables,
  { behind, upTo }: AccountRange,
  rowsMax: number,
  { slice, placeOf, find, columns }: Gifts<Row>,
): AsyncGenerator<readonly FoundBreach[]> {
  for (let last: Row | null = null, isMore = true; isMore; ) {
    const from: Parameter[] = [behind, upTo, last?.account_id ?? '', placeOf(last), rowsMax];
    const rows: Row[] = await partition.query<Row>(slice, from);
    if (rows.length > 0) yield await directory.query<FoundBreach>(find, columnsOf(rows, ...columns));
    last = rows.at(-1) ?? last;
    isMore = rows.length === rowsMax;
  }
}

const IS_HEX = /^[0-9a-f]{64}$/;

/** Of anything that is no hash there is no redemption. */
const hexOf = ({ code_hash: hash }: { readonly code_hash: string }): string => (IS_HEX.test(hash) ? hash : '');
