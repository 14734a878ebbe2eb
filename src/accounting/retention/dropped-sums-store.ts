import { KEY_COUNTERS } from '../accounts/key-limit-tables.ts';
import { placeSql } from '../counts/counted-use.ts';
import { OF_CALLS, OF_REFUNDS, ROLLUP_KEY, ROLLUP_SUMS } from '../usage/rollup-columns.ts';

/** Sums that replace dropped records: charges by month and counters of limits for audits, usage by day for reports. */

const CALL_COUNTERS = KEY_COUNTERS.filter(({ of }) => of === 'calls');

/** SQL: the counters to which the use `u` of a call adds, with their periods and the amounts. */
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

/** SQL: the periods that an owner's counters count now. Sums of past periods are not needed, because audits never read them. */
const PLACES_NOW = `case when c.is_plan then (
      select array[${placeSql('s.week_no', 's.week_began_at')}, ${placeSql('s.period_no', 's.period_began_at')}]
      from subscriptions s where s.account_id = c.account_id and s.id = c.owner_id
    ) else (
      select array[${KEY_PLACES}] from key_limits l where l.account_id = c.account_id and l.key_id = c.owner_id
    ) end`;

const USAGE_KEY = ['dropped_in', ...ROLLUP_KEY];

/**
 * SQL: adds the sums of the records `dropped` to the month `dropped_in`. The billing time zone is $1. Separate subqueries, because Citus
 * does not push sums down into an insert. Refunds use ledger_refunds_by_call.
 */
export const RECORD_SUMS = `charges as materialized (
  select account_id, dropped_in, month_of_call(id) as month, count(*) as calls, count(charge_nano) as charged_calls,
    coalesce(sum(charge_nano), 0) as charge_nano
  from dropped group by 1, 2, 3
),
by_call as (
  insert into dropped_calls as t (account_id, dropped_in, month, calls, charged_calls, charge_nano)
  select account_id, dropped_in, month, calls, charged_calls, charge_nano from charges order by account_id, dropped_in, month
  on conflict (account_id, dropped_in, month) do update set calls = t.calls + excluded.calls,
    charged_calls = t.charged_calls + excluded.charged_calls, charge_nano = t.charge_nano + excluded.charge_nano
),
uses as materialized (
  select c.account_id, c.dropped_in, c.owner_id, c.counter, c.place, c.amount
  from (
    select c.account_id, c.dropped_in, u.owner_id, u.is_plan, n.counter, n.place, sum(n.amount) as amount
    from dropped c
    cross join lateral (values
      (c.counted #>> '{plan,id}', c.counted -> 'plan', true),
      (case when c.counted ? 'key' then c.key_id end, c.counted -> 'key', false),
      (c.counted #>> '{member,id}', c.counted -> 'member', false)
    ) as u (owner_id, use, is_plan)
    cross join lateral (values ${COUNTED}) as n (counter, place, amount)
    where c.counted is not null and u.owner_id is not null and n.place is not null
    group by c.account_id, c.dropped_in, u.owner_id, u.is_plan, n.counter, n.place
  ) c
  where c.place = '' or c.place = any (${PLACES_NOW})
),
by_use as (
  insert into dropped_uses as t (account_id, dropped_in, owner_id, counter, place, amount)
  select account_id, dropped_in, owner_id, counter, place, amount
  from uses order by account_id, dropped_in, owner_id, counter, place
  on conflict (account_id, dropped_in, owner_id, counter, place) do update set amount = t.amount + excluded.amount
),
usage as materialized (
  select ${[...USAGE_KEY, ...ROLLUP_SUMS.map((name) => `sum(${name}) as ${name}`)].join(', ')}
  from (
    select c.dropped_in, ${OF_CALLS}
    from dropped c where c.status <> 'unresolved'
    union all
    select c.dropped_in, ${OF_REFUNDS}
    from dropped c join ledger_entries e on e.account_id = c.account_id and e.call_id = c.id and e.kind = 'refund'
  ) used
  group by ${USAGE_KEY.join(', ')}
),
by_usage as (
  insert into dropped_usage as t (${[...USAGE_KEY, ...ROLLUP_SUMS].join(', ')})
  select ${[...USAGE_KEY, ...ROLLUP_SUMS].join(', ')} from usage order by ${USAGE_KEY.join(', ')}
  on conflict (${USAGE_KEY.join(', ')}) do update set
    ${ROLLUP_SUMS.map((name) => `${name} = t.${name} + excluded.${name}`).join(', ')}
)`;
