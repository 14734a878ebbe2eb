import type { Statement } from '../../db/database.ts';
import { BREACHES_MAX } from './audit-findings.ts';
import { inRange } from './audit-ranges-store.ts';

/** This file compares the tables that grow with every call: balances with ledger entries, and call records with charges. */

/** Uses index-only scans of primary keys. */
export const countRecords: Statement = {
  name: 'audit.count-records',
  text: `select (select count(*)::int from ledger_entries e where ${inRange('e')}) as entries,
  (select count(*)::int from calls c where ${inRange('c')}) as calls`,
};

/** Reads the ledger entries of the range once, in the order of the primary key. */
export const auditLedgers: Statement = {
  name: 'audit.ledgers',
  text: `with chain as materialized (
  select account_id, entry_no, amount_nano, balance_after_nano, row_number() over each as expected_no,
    coalesce(lag(balance_after_nano) over each, 0) as balance_before_nano
  from ledger_entries e where ${inRange('e')} window each as (partition by account_id order by entry_no)
),
compared as materialized (
  select b.account_id, b.balance_nano, b.last_entry_no, coalesce(l.amount_nano, 0) as amount_nano, coalesce(l.last_no, 0) as last_no
  from balances b
  left join (
    select account_id, sum(amount_nano) as amount_nano, max(entry_no) as last_no from chain group by account_id
  ) l using (account_id)
  where ${inRange('b')} and (b.balance_nano <> coalesce(l.amount_nano, 0) or b.last_entry_no <> coalesce(l.last_no, 0))
)
(
  select 'balance-sum' as invariant, account_id, 'balance ' || balance_nano || ', entries ' || amount_nano as detail
  from compared where balance_nano <> amount_nano limit ${BREACHES_MAX}
)
union all (
  select 'last-entry', account_id, 'last ' || last_entry_no || ', ledger ' || last_no
  from compared where last_entry_no <> last_no limit ${BREACHES_MAX}
)
union all (
  select 'entry-chain', account_id, 'entry ' || entry_no
  from chain
  where entry_no <> expected_no or balance_after_nano <> balance_before_nano + amount_nano limit ${BREACHES_MAX}
)`,
};

/** SQL: whether a call record `s` has a wrong reserved amount. Only unresolved and resolved calls have one; no charge may exceed it. */
const IS_UNRESOLVED_BROKEN = `case s.status when 'unresolved' then s.charge_nano is not null
      when 'resolved' then s.charge_nano > coalesce(s.reserved_nano, 0) else s.reserved_nano is not null end`;

/** Charges without a record must add up to the sums of dropped records. Uses the months' primary keys and ledger_one_charge_a_call. */
export const auditCalls: Statement = {
  name: 'audit.calls',
  text: `with suspects as materialized (
  select s.*, s.price_list is not null and l.id is null as has_no_prices
  from (
    select coalesce(c.account_id, e.account_id) as account_id, coalesce(c.id, e.call_id) as call_id, e.entry_no, e.amount_nano,
      c.status, c.context, c.charge_nano, c.reserved_nano, c.price_list
    from (
      select c.account_id, c.id, c.status, c.context, c.charge_nano, c.reserved_nano, c.price_list from calls c where ${inRange('c')}
    ) c
    full join (
      select e.account_id, e.call_id, e.entry_no, e.amount_nano from ledger_entries e where e.kind = 'charge' and ${inRange('e')}
    ) e on e.account_id = c.account_id and e.call_id = c.id
  ) s
  left join price_lists l on l.id = s.price_list
  where s.amount_nano is distinct from -s.charge_nano or s.price_list is not null and l.id is null
    or ${IS_UNRESOLVED_BROKEN}
    or s.context = 'coding' and s.charge_nano is not null
),
dropped as materialized (
  select d.account_id, d.month, sum(d.charged_calls) as charges, sum(d.charge_nano) as charge_nano
  from dropped_calls d join dropped_months m on m.month = d.dropped_in and m.dropped_at is not null
  where ${inRange('d')} group by d.account_id, d.month
)
(
  select v.invariant, s.account_id, v.detail
  from suspects s cross join lateral (values
    ('settled-calls', s.charge_nano is not null and s.amount_nano is distinct from -s.charge_nano, 'call ' || s.call_id),
    ('charge-calls', s.entry_no is not null and s.charge_nano is null and not (s.status is null and exists (
      select from dropped d where d.account_id = s.account_id and d.month = month_of_call(s.call_id)
    )), 'entry ' || s.entry_no || ' of call ' || s.call_id),
    ('unresolved-charges', ${IS_UNRESOLVED_BROKEN}, 'call ' || s.call_id),
    ('recorded-prices', s.has_no_prices, 'call ' || s.call_id),
    ('coding-charges', s.context = 'coding' and s.charge_nano is not null, 'call ' || s.call_id)
  ) as v (invariant, is_broken, detail)
  where v.is_broken limit ${BREACHES_MAX * 5}
)
union all (
  select 'dropped-calls', d.account_id, 'calls of ' || to_char(d.month, 'YYYY-MM') || ' that were dropped had ' || d.charges
    || ' charges of ' || d.charge_nano || ', the ledger has ' || coalesce(f.charges, 0) || ' of ' || coalesce(f.charge_nano, 0)
  from dropped d
  left join (
    select account_id, month_of_call(call_id) as month, count(*) as charges, -sum(amount_nano) as charge_nano
    from suspects where status is null group by account_id, month
  ) f using (account_id, month)
  where d.charges <> coalesce(f.charges, 0) or d.charge_nano <> coalesce(f.charge_nano, 0)
  limit ${BREACHES_MAX}
)`,
};
