import { KEY_COUNTERS } from '../accounts/key-limit-tables.ts';
import { placeSql } from '../counts/counted-use.ts';
import { OF_CALLS, OF_REFUNDS, ROLLUP_KEY, ROLLUP_SUMS } from '../usage/rollup-store.ts';

/**
 * SQL: what is written down of call records that are dropped. Sums are added to those that the month has: of the records by the month of
 * their ids, of what counters of today still count of them, and of usage.
 */

/** A call and a refund may be started, and charged, some time apart from the id of the call. */
const CHECKED = `checked as materialized (
  select c.*, date_trunc('month', c.started_at at time zone 'UTC')::date as dropped_in,
    e.amount_nano is distinct from -c.charge_nano as is_wrong
  from part c
  left join lateral (
    select e.amount_nano from ledger_entries e
    where e.account_id = c.account_id and e.call_id = c.id and e.kind = 'charge' limit 1
  ) e on true
)`;

const CALL_COUNTERS = KEY_COUNTERS.filter(({ of }) => of === 'calls');

/** SQL: what a record counts for its owner by a use `u`: the counter, its place and the amount. */
const COUNTED = [
  `('uses', '', 1::bigint)`,
  `('weekCalls', u.use ->> 'week', 1)`,
  `('periodTokens', u.use ->> 'period', (u.use ->> 'tokens')::bigint)`,
  ...CALL_COUNTERS.map(
    ({ counter, period }) => `('${counter}', ${period === null ? "''" : `u.use ->> '${period}'`}, 1)`,
  ),
].join(', ');

const KEY_PLACES = CALL_COUNTERS.map(({ period }) =>
  period === null ? "''" : placeSql(`l.${period}_no`, `l.${period}_began_at`),
).join(', ');

/** SQL: the places that the counters of an owner count now. One that begins anew has another name, so no other place is ever read. */
const PLACES_NOW = `case when u.is_plan then (
      select array[${placeSql('s.week_no', 's.week_began_at')}, ${placeSql('s.period_no', 's.period_began_at')}]
      from subscriptions s where s.account_id = c.account_id and s.id = u.owner_id
    ) else (
      select array[${KEY_PLACES}] from key_limits l where l.account_id = c.account_id and l.key_id = u.owner_id
    ) end`;

const USAGE_KEY = ['dropped_in', ...ROLLUP_KEY];

/**
 * SQL: of the records `part`, and with the billing time zone as $1. `dropped` are those that agree with the ledger and are as `goes`
 * says; they are written down. What is inserted is read by a part of its own, which Citus does not put into the statement that inserts. Plans:
 * ledger_one_charge_a_call, ledger_refunds_by_call, primary keys, row by row.
 */
export const writtenDown = (goes: string): string => `${CHECKED},
dropped as materialized (select c.* from checked c where not c.is_wrong and ${goes}),
by_call as (
  insert into dropped_calls as t (account_id, dropped_in, month, calls, charged_calls, charge_nano)
  select account_id, dropped_in, month_of_call(id) as month, count(*), count(charge_nano), coalesce(sum(charge_nano), 0)
  from dropped group by account_id, dropped_in, month order by account_id, dropped_in, month
  on conflict (account_id, dropped_in, month) do update set calls = t.calls + excluded.calls,
    charged_calls = t.charged_calls + excluded.charged_calls, charge_nano = t.charge_nano + excluded.charge_nano
),
uses as materialized (
  select c.account_id, c.dropped_in, u.owner_id, n.counter, n.place, sum(n.amount) as amount
  from dropped c
  cross join lateral (values
    (c.counted #>> '{plan,id}', c.counted -> 'plan', true),
    (case when c.counted ? 'key' then c.key_id end, c.counted -> 'key', false),
    (c.counted #>> '{member,id}', c.counted -> 'member', false)
  ) as u (owner_id, use, is_plan)
  cross join lateral (values ${COUNTED}) as n (counter, place, amount)
  where c.counted is not null and u.owner_id is not null and n.place is not null
    and (n.place = '' or n.place = any (${PLACES_NOW}))
  group by c.account_id, c.dropped_in, u.owner_id, n.counter, n.place
),
by_use as (
  insert into dropped_uses as t (account_id, dropped_in, owner_id, counter, place, amount)
  select account_id, dropped_in, owner_id, counter, place, amount
  from uses order by account_id, dropped_in, owner_id, counter, place
  on conflict (account_id, dropped_in, owner_id, counter, place) do update set amount = t.amount + excluded.amount
),
used as materialized (
  select c.dropped_in, ${OF_CALLS}
  from dropped c where c.status <> 'unresolved'
  union all
  select c.dropped_in, ${OF_REFUNDS}
  from dropped c
  cross join lateral (
    select e.created_at, e.amount_nano from ledger_entries e
    where e.account_id = c.account_id and e.call_id = c.id and e.kind = 'refund' offset 0
  ) e
),
by_usage as (
  insert into dropped_usage as t (${[...USAGE_KEY, ...ROLLUP_SUMS].join(', ')})
  select ${[...USAGE_KEY, ...ROLLUP_SUMS.map((name) => `sum(${name})`)].join(', ')}
  from used group by ${USAGE_KEY.join(', ')} order by ${USAGE_KEY.join(', ')}
  on conflict (account_id, dropped_in, day, key_id, model, provider, status, context) do update set
    ${ROLLUP_SUMS.map((name) => `${name} = t.${name} + excluded.${name}`).join(', ')}
)`;

/** SQL: the rows `d` of what was written down that are valid. */
export const isDropped = (row: string): string =>
  `exists (select from dropped_months m where m.month = ${row}.dropped_in and m.dropped_at is not null)`;
