import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import type { DirectoryQueryable, PartitionQueryable } from '../../db/home-pools.ts';
import { BREACHES_MAX, type FoundBreach } from './audit-findings.ts';
import { type AccountRange, inRange } from './audit-ranges-store.ts';

/**
 * This file compares redemptions in the directory with gifts in partitions. One transaction inserts both, and neither changes. So
 * redemptions are read before the snapshot of the gifts, and the redemptions of unmatched gifts again after it.
 */

/** Selects redemptions. Uses voucher_redemptions_by_account. */
const selectRedemptions: Statement = {
  name: 'audit.select-redemptions',
  text: `select r.account_id, encode(r.code_hash, 'hex') as code_hash, r.id, r.entry_no, r.subscription_id, b.amount_nano, b.plan_id
from voucher_redemptions r
join accounts a on a.id = r.account_id and a.partition_no = $3::int
left join vouchers v on v.code_hash = r.code_hash
left join voucher_batches b on b.id = v.batch_id and b.id = r.batch_id
where ${inRange('r')}`,
};

/** Selects redemptions without their gift: a ledger entry of the voucher's value, or the voucher's subscription. Uses primary keys. */
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
  else s.plan_id is null or s.plan_id is distinct from v.plan_id end
limit ${BREACHES_MAX}`,
};

/** SQL: the hash of the voucher code in an idempotency key; null if the key contains none. */
const CODE_HASH = `substring(idempotency_key from '^voucher ([0-9a-f]{64})$') as code_hash`;

/** Selects gifts of vouchers. Uses ledger_voucher_entries and a primary key. */
const selectGifts: Statement = {
  name: 'audit.select-voucher-gifts',
  text: `select account_id, entry_no, null::text as subscription_id, amount_nano, ${CODE_HASH}
from ledger_entries e where ${inRange('e')} and idempotency_key like 'voucher %'
union all
select account_id, null, subscription_id, null, ${CODE_HASH}
from subscription_requests q where ${inRange('q')} and idempotency_key like 'voucher %'`,
};

/** Selects gifts without a redemption. Uses the primary key. */
const findUnredeemed: Statement = {
  name: 'audit.find-unredeemed-gifts',
  text: `select 'vouchers' as invariant, v.account_id, case when v.entry_no is null then 'subscription ' || v.subscription_id || ', voucher none'
  else 'entry ' || v.entry_no || ', value none, entry ' || v.amount_nano end as detail
from unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[])
  as v (account_id, entry_no, subscription_id, amount_nano, code_hash)
left join lateral (
  select account_id, entry_no, subscription_id from voucher_redemptions where code_hash = decode(v.code_hash, 'hex') limit 1
) r on true
where r.account_id is distinct from v.account_id or r.entry_no is distinct from v.entry_no
  or r.subscription_id is distinct from v.subscription_id
limit ${BREACHES_MAX}`,
};

export interface Redemption {
  readonly account_id: string;
  readonly code_hash: string;
  readonly id: string;
  readonly entry_no: bigint | null;
  readonly subscription_id: string | null;
  readonly amount_nano: bigint | null;
  readonly plan_id: string | null;
}

interface Gift {
  readonly account_id: string;
  readonly entry_no: bigint | null;
  readonly subscription_id: string | null;
  readonly amount_nano: bigint | null;
  readonly code_hash: string | null;
}

export const readRedemptions = (
  directory: DirectoryQueryable,
  { after, upTo }: AccountRange,
  partition: number,
): Promise<Redemption[]> => directory.query<Redemption>(selectRedemptions, [after, upTo, partition]);

/** Compares redemptions with gifts. Also returns all gifts of the range. */
export async function compareGifts(
  partition: PartitionQueryable,
  { after, upTo }: AccountRange,
  redemptions: readonly Redemption[],
): Promise<{ readonly breaches: readonly FoundBreach[]; readonly gifts: readonly Gift[] }> {
  const columns = fieldsOf(
    redemptions,
    'account_id',
    'code_hash',
    'id',
    'entry_no',
    'subscription_id',
    'amount_nano',
    'plan_id',
  );
  const breaches = redemptions.length === 0 ? [] : await partition.query<FoundBreach>(findUnpaid, columns);
  return { breaches, gifts: await partition.query<Gift>(selectGifts, [after, upTo]) };
}

export async function findWithoutRedemption(
  directory: DirectoryQueryable,
  gifts: readonly Gift[],
): Promise<readonly FoundBreach[]> {
  if (gifts.length === 0) return [];
  const columns = fieldsOf(gifts, 'account_id', 'entry_no', 'subscription_id', 'amount_nano', 'code_hash');
  return directory.query<FoundBreach>(findUnredeemed, columns);
}
