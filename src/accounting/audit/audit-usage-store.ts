import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-lanes.ts';
import { BREACHES_MAX, type FoundBreach } from './audit-findings.ts';
import type { AccountRange } from './audit-slices-store.ts';

/** The SQL that compares the sums of usage with the ledger. */

/** SQL: the rows of the accounts of a slice, which end with account $2, or with the one in which $3 sums are full. */
const inSlice = (row: string): string =>
  `${row}.account_id > $1::text and ${row}.account_id <= (select account_id from slice_end)`;

/**
 * What the sums of usage have, and what waits to be summed, against the ledger, if all records of an import are summed: of
 * accounts behind $1, up to $2, as many as have $3 sums together, and at least one. The sums of an account change with its
 * ledger, so all of them are read by one statement. Charges are what the other entries leave of the last balance, so that no ledger
 * is read from end to end. The last row, where `invariant` is null, has the last account that was compared. Plans: primary keys of
 * usage_rollups and ledger_entries, ledger_entries_beside_charges, along the index; the queue is short.
 */
const sliceUsage: Statement = {
  name: 'audit.usage-sums',
  text: `with slice_end as materialized (
  select coalesce((
    select r.account_id from usage_rollups r
    where r.account_id > $1::text and r.account_id <= $2::text and (select is_done from usage_backfill)
    order by r.account_id offset $3::int - 1 limit 1
  ), $2::text) as account_id
),
waiting as materialized (
  select account_id, sum(charge_nano) as charge_nano, sum(refund_nano) as refund_nano
  from (
    select c.account_id, c.charge_nano, 0 as refund_nano
    from usage_queue q
    cross join lateral unnest(q.account_ids, q.call_ids, q.started_ats) as n (account_id, call_id, started_at)
    join calls c on c.account_id = n.account_id and c.id = n.call_id and c.started_at = n.started_at
    where q.entry_no is null and ${inSlice('n')}
    union all
    select e.account_id, 0, e.amount_nano
    from usage_queue q join ledger_entries e on e.account_id = q.account_ids[1] and e.entry_no = q.entry_no
    where ${inSlice('e')}
  ) queued
  group by account_id
),
compared as (
  select b.account_id, coalesce(u.charge_nano, 0) + coalesce(w.charge_nano, 0) as charges,
    coalesce(u.refund_nano, 0) + coalesce(w.refund_nano, 0) as refunds,
    coalesce(l.others_nano, 0) - coalesce((
      select e.balance_after_nano from ledger_entries e where e.account_id = b.account_id order by e.entry_no desc limit 1
    ), 0) as ledger_charges,
    coalesce(l.refund_nano, 0) as ledger_refunds
  from balances b
  left join (
    select account_id, sum(charge_nano) as charge_nano, sum(refund_nano) as refund_nano
    from usage_rollups r where ${inSlice('r')} group by account_id
  ) u using (account_id)
  left join waiting w using (account_id)
  left join (
    select account_id, sum(amount_nano) as others_nano, sum(amount_nano) filter (where kind = 'refund') as refund_nano
    from ledger_entries e where kind <> 'charge' and ${inSlice('e')} group by account_id
  ) l using (account_id)
  where ${inSlice('b')} and (select is_done from usage_backfill)
)
(
  select 'usage-sums' as invariant, account_id, 'charges ' || charges || ' and refunds ' || refunds || ', ledger ' || ledger_charges
    || ' and ' || ledger_refunds as detail
  from compared where charges <> ledger_charges or refunds <> ledger_refunds limit ${BREACHES_MAX}
)
union all
select null, account_id, null from slice_end`,
};

/** What each slice of a range found. */
export async function* auditUsage(
  reader: PartitionQueryable,
  { behind, upTo }: AccountRange,
  rowsMax: number,
): AsyncGenerator<FoundBreach[]> {
  for (let from = behind; from !== upTo; ) {
    const rows = await reader.query<FoundBreach | { invariant: null; account_id: string }>(sliceUsage, [
      from,
      upTo,
      rowsMax,
    ]);
    yield rows.filter((row): row is FoundBreach => row.invariant !== null);
    from = rows.find(({ invariant }) => invariant === null)!.account_id;
  }
}
