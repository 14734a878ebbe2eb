import type { Statement } from '../../db/database.ts';
import { BREACHES_MAX, type InvariantId } from './audit-findings.ts';
import { inRange } from './audit-ranges-store.ts';

/** This file compares limits with calls in flight, and refunds with charges. An account has few of both. */

/** SQL: whether retention has dropped the month in which the call of an entry started. Uses primary keys. */
const isOfDroppedMonth = (row: string): string => `exists (
        select from dropped_calls d join dropped_months m on m.month = d.dropped_in and m.dropped_at is not null
        where d.account_id = ${row}.account_id and d.month = month_of_call(${row}.call_id)
      )`;

/** For each invariant, SQL that selects `(account_id, detail)` of its violations. */
const BREACHES: { readonly [Id in InvariantId]?: string } = {
  'reserved-sum': `select b.account_id, 'reserved ' || b.reserved_nano || ', reservations ' || coalesce(sum(r.amount_nano), 0) as detail
from balances b left join reservations r on r.account_id = b.account_id and ${inRange('r')}
where ${inRange('b')}
group by b.account_id, b.reserved_nano having b.reserved_nano <> coalesce(sum(r.amount_nano), 0)`,
  // Subqueries, because a join might read all calls of the accounts.
  refunds: `select r.account_id, 'call ' || r.call_id || ' refunded ' || r.refunded_nano || ', charge ' || r.charge_nano as detail
from (
  select e.account_id, e.call_id, sum(e.amount_nano) as refunded_nano, min(e.amount_nano) as least_nano,
    (select coalesce(max(c.charge_nano), (
      select -d.amount_nano from ledger_entries d
      where d.account_id = e.account_id and d.call_id = e.call_id and d.kind = 'charge' and ${isOfDroppedMonth('e')}
    ), 0) from calls c where c.account_id = e.account_id and c.id = e.call_id) as charge_nano
  from ledger_entries e where e.kind = 'refund' and ${inRange('e')} group by e.account_id, e.call_id
) r
where r.least_nano <= 0 or r.refunded_nano > r.charge_nano`,
  'plan-in-flight': `select s.account_id, s.id || ' counts ' || s.in_flight || ', reservations ' || count(r.call_id) as detail
from subscriptions s
left join reservations r on r.account_id = s.account_id and r.subscription_id = s.id and ${inRange('r')}
where ${inRange('s')}
group by s.account_id, s.id, s.in_flight having s.in_flight <> count(r.call_id)`,
  'plan-reserved-tokens': `select s.account_id,
  s.id || ' counts ' || s.period_reserved_tokens || ', reservations ' || coalesce(sum(r.tokens), 0) as detail
from subscriptions s
left join reservations r on r.account_id = s.account_id and r.subscription_id = s.id and r.period_no = s.period_no
  and ${inRange('r')}
where ${inRange('s')}
group by s.account_id, s.id, s.period_reserved_tokens having s.period_reserved_tokens <> coalesce(sum(r.tokens), 0)`,
  'plan-slots': `select s.account_id, s.id || ' counts ' || s.slots || ', slots ' || count(p.call_id) as detail
from subscriptions s
left join plan_slots p on p.account_id = s.account_id and p.subscription_id = s.id and ${inRange('p')}
where ${inRange('s')}
group by s.account_id, s.id, s.slots having s.slots <> count(p.call_id)`,
  'key-in-flight': `select l.account_id, l.key_id || ' counts ' || l.in_flight || ', reservations ' || count(r.day_no) as detail
from key_limits l
left join (
  select r.account_id, o.id, o.day_no, o.amount_nano from reservations r
  cross join lateral (
    values (case when r.key_day_no is not null then r.key_id end, r.key_day_no, r.key_amount_nano),
      (r.member_id, r.member_day_no, coalesce(r.amount_nano, 0)),
      (r.key_budget_id, null, r.amount_nano),
      (r.member_budget_id, null, r.amount_nano)
    union all
    select jsonb_array_elements_text(r.caller_budget_ids), null, r.amount_nano
  ) as o (id, day_no, amount_nano)
  where o.id is not null and ${inRange('r')}
) r on r.account_id = l.account_id and r.id = l.key_id
where ${inRange('l')}
group by l.account_id, l.key_id, l.in_flight, l.reserved_nano
having l.in_flight <> count(r.day_no) or l.reserved_nano <> coalesce(sum(r.amount_nano), 0)`,
  'ended-reservations': `select r.account_id, 'call ' || r.call_id as detail from reservations r
where ${inRange('r')} and (select count(*) from calls c where c.account_id = r.account_id and c.id = r.call_id) > 0`,
};

export const auditLimits: Statement = {
  name: 'audit.limits',
  text: Object.entries(BREACHES)
    .map(([id, text]) => `(select '${id}' as invariant, broken.* from (${text}) broken limit ${BREACHES_MAX})`)
    .join('\nunion all\n'),
};
