import { columnsOf } from '../../db/columns.ts';
import type { Statement, TableReader } from '../../db/database.ts';
import type { AccountRange, FoundBreach } from './audit-slices-store.ts';

/**
 * The SQL that compares redeemed vouchers with what they gave. The two have different homes, so no statement reads both. They are
 * written by one transaction and never change, so whatever one statement has found on its side is found on the other by a later one.
 */

/**
 * Redemptions of the accounts behind $1, up to $2, with what their vouchers give: $5 rows at most, behind one ($3, $4). Plans:
 * voucher_redemptions_by_account, primary keys.
 */
const sliceRedemptions: Statement = {
  name: 'audit.slice-redemptions',
  text: `select r.account_id, encode(r.code_hash, 'hex') as code_hash, r.id, r.entry_no, r.subscription_id, b.amount_nano, b.plan_id
from (
  select * from voucher_redemptions
  where account_id > $1::text and account_id <= $2::text and (account_id, code_hash) > ($3::text, decode($4::text, 'hex'))
  order by account_id, code_hash limit $5::int
) r
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

interface RedemptionRow {
  account_id: string;
  code_hash: string;
  id: string;
  entry_no: bigint | null;
  subscription_id: string | null;
  amount_nano: bigint | null;
  plan_id: string | null;
}

interface EntryRow {
  account_id: string;
  entry_no: bigint;
  amount_nano: bigint;
  code_hash: string;
}

/** What each slice of a range found: redemptions first, then entries. */
export async function* auditVouchers(
  reader: TableReader,
  { behind, upTo }: AccountRange,
  rowsMax: number,
): AsyncGenerator<readonly FoundBreach[]> {
  for (let last = { account_id: '', code_hash: '' }, isMore = true; isMore; ) {
    const from = [behind, upTo, last.account_id, last.code_hash, rowsMax];
    const rows = await reader.query<RedemptionRow>(sliceRedemptions, from);
    if (rows.length > 0) {
      yield await reader.query<FoundBreach>(
        findUnpaid,
        columnsOf(
          rows,
          (row) => row.account_id,
          (row) => row.code_hash,
          (row) => row.id,
          (row) => row.entry_no,
          (row) => row.subscription_id,
          (row) => row.amount_nano,
          (row) => row.plan_id,
        ),
      );
    }
    last = rows.at(-1) ?? last;
    isMore = rows.length === rowsMax;
  }
  for (let last = { account_id: '', entry_no: 0n }, isMore = true; isMore; ) {
    const from = [behind, upTo, last.account_id, last.entry_no, rowsMax];
    const rows = await reader.query<EntryRow>(sliceEntries, from);
    if (rows.length > 0) {
      yield await reader.query<FoundBreach>(
        findUnredeemed,
        columnsOf(
          rows,
          (row) => row.account_id,
          (row) => row.entry_no,
          (row) => row.amount_nano,
          // Of anything else there is no redemption.
          (row) => (IS_HEX.test(row.code_hash) ? row.code_hash : ''),
        ),
      );
    }
    last = rows.at(-1) ?? last;
    isMore = rows.length === rowsMax;
  }
}

const IS_HEX = /^[0-9a-f]{64}$/;
