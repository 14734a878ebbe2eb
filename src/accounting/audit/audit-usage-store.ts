import type { Statement } from '../../db/database.ts';
import { BREACHES_MAX } from './audit-findings.ts';
import { inRange } from './audit-ranges-store.ts';

/**
 * Compares usage sums plus queued calls with the ledger, once all imported records are summed. The total of charges is the last balance
 * minus all other entries. Uses the primary keys of usage_rollups and ledger_entries, and ledger_entries_beside_charges; the queue is
 * short.
 */
export const auditUsage: Statement = {
  name: 'audit.usage-sums',
  text: `with queued as (
  select account_id, sum(charge_nano) as charge_nano, sum(refund_nano) as refund_nano
  from (
    select c.account_id, c.charge_nano, 0 as refund_nano
    from usage_queue q
    cross join lateral unnest(q.account_ids, q.call_ids, q.started_ats) as n (account_id, call_id, started_at)
    join calls c on c.account_id = n.account_id and c.id = n.call_id and c.started_at = n.started_at
    where q.entry_no is null and ${inRange('n')}
    union all
    select e.account_id, 0, e.amount_nano
    from usage_queue q join ledger_entries e on e.account_id = q.account_ids[1] and e.entry_no = q.entry_no
    where ${inRange('e')}
  ) records
  group by account_id
),
compared as (
  select b.account_id, coalesce(u.charge_nano, 0) + coalesce(q.charge_nano, 0) as charges,
    coalesce(u.refund_nano, 0) + coalesce(q.refund_nano, 0) as refunds,
    coalesce(l.others_nano, 0) - coalesce((
      select e.balance_after_nano from ledger_entries e where e.account_id = b.account_id order by e.entry_no desc limit 1
    ), 0) as ledger_charges,
    coalesce(l.refund_nano, 0) as ledger_refunds
  from balances b
  left join (
    select account_id, sum(charge_nano) as charge_nano, sum(refund_nano) as refund_nano
    from usage_rollups r where ${inRange('r')} group by account_id
  ) u using (account_id)
  left join queued q using (account_id)
  left join (
    select account_id, sum(amount_nano) as others_nano, sum(amount_nano) filter (where kind = 'refund') as refund_nano
    from ledger_entries e where kind <> 'charge' and ${inRange('e')} group by account_id
  ) l using (account_id)
  where ${inRange('b')} and (select is_done from usage_backfill)
)
select 'usage-sums' as invariant, account_id, 'charges ' || charges || ' and refunds ' || refunds || ', ledger ' || ledger_charges
  || ' and ' || ledger_refunds as detail
from compared where charges <> ledger_charges or refunds <> ledger_refunds limit ${BREACHES_MAX}`,
};
