import type { Statement } from '../../db/database.ts';
import { isOfCaller } from '../accounts/caller-budget-ids.ts';
import { KEY_COUNTERS, type KeyCounter } from '../accounts/key-limit-tables.ts';
import { placeSql } from '../counts/counted-use.ts';
import { BREACHES_MAX, type InvariantId } from './audit-findings.ts';
import { inRange } from './audit-ranges-store.ts';

/** This file compares counters of limits with sums of records, which state the counters that include them (`counts/counted-use.ts`). */

/** What a counter counts. `period`: when it starts over; `null`: never. `invariant`: what an incorrect counter violates. */
interface CounterTerms {
  readonly of: 'charges' | 'calls' | 'tokens' | 'records';
  readonly period: 'day' | 'week' | 'month' | 'period' | null;
  readonly invariant: InvariantId;
}

const OF_KEYS = { charges: 'key-spending', calls: 'key-calls' } as const;
const OTHERS = {
  spent: { of: 'charges', period: 'day', invariant: 'account-spending' },
  weekCalls: { of: 'calls', period: 'week', invariant: 'plan-week' },
  periodTokens: { of: 'tokens', period: 'period', invariant: 'plan-period' },
  uses: { of: 'records', period: null, invariant: 'use-numbers' },
} as const satisfies Readonly<Record<string, CounterTerms>>;

type Counter = KeyCounter | keyof typeof OTHERS;

const COUNTERS = {
  ...Object.fromEntries(
    KEY_COUNTERS.map(({ counter, of, period }) => [counter, { of, period, invariant: OF_KEYS[of] }]),
  ),
  ...OTHERS,
} as { readonly [Name in Counter]: CounterTerms };

/** SQL: how findings describe a counter `c`. `c.place` ends with the start of the counted period in epoch milliseconds. */
function wordsSql({ of, period }: CounterTerms): string {
  const counted = of === 'charges' ? 'spent' : of;
  if (period === null) return `'${of === 'charges' ? `${counted} in all` : counted}'`;
  const beganAt = `to_timestamp(split_part(c.place, '@', 2)::numeric / 1000) at time zone 'UTC'`;
  return `'${counted} in the ${period} since ' || to_char(${beganAt}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

const caseOf = (sqlOf: (terms: CounterTerms) => string): string =>
  `case c.counter ${Object.entries(COUNTERS)
    .map(([counter, terms]) => `when '${counter}' then ${sqlOf(terms)}`)
    .join('\n    ')} end`;

interface CounterSql {
  readonly counter: Counter;
  /** The day, week, month or plan period that is counted now; empty for a counter that never starts over. */
  readonly place: string;
  readonly stored: string;
  /** Names of the period and of the amount within `counted_before`, the use inherited from a replaced key. */
  readonly before: readonly [place: string | null, amount: string] | null;
  /** SQL: the amount that calls in flight add to the counter. */
  readonly inFlight?: string;
}

/** SQL: one row for each counter in a table row. `known`: the part of the counter that no record explains. */
function countersOf(row: string, counters: readonly CounterSql[]): string {
  const rows = counters.map(({ counter, place, stored, before, inFlight = '0' }) => {
    const known = before === null ? '0' : beforeSql(row, before, place);
    return `('${counter}', ${place === '' ? "''" : place}, ${stored}, ${inFlight} + ${known})`;
  });
  return `(values\n    ${rows.join(',\n    ')}\n  ) as v (counter, place, stored, known)`;
}

function beforeSql(row: string, [placeName, amount]: readonly [string | null, string], place: string): string {
  const value = `coalesce((${row}.counted_before ->> '${amount}')::numeric, 0)`;
  return placeName === null
    ? value
    : `case when ${row}.counted_before ->> '${placeName}' = ${place} then ${value} else 0 end`;
}

const OF_ACCOUNT: readonly CounterSql[] = [
  {
    counter: 'spent',
    place: placeSql('b.day_no', 'b.day_began_at'),
    stored: 'b.spent_nano',
    before: ['day', 'spent'],
  },
];

const OF_KEY: readonly CounterSql[] = [
  ...KEY_COUNTERS.map(({ counter, period, of, before, column }) => ({
    counter,
    place: period === null ? '' : placeSql(`l.${period}_no`, `l.${period}_began_at`),
    stored: `l.${column}`,
    before: [period, before] as const,
    ...(of === 'calls' && { inFlight: 'coalesce(f.calls, 0)' }),
  })),
  { counter: 'uses', place: '', stored: 'l.use_no', before: null },
];

const OF_SUBSCRIPTION: readonly CounterSql[] = [
  {
    counter: 'weekCalls',
    place: placeSql('s.week_no', 's.week_began_at'),
    stored: 's.week_calls',
    before: ['week', 'weekCalls'],
    inFlight: 'coalesce(f.calls, 0)',
  },
  {
    counter: 'periodTokens',
    place: placeSql('s.period_no', 's.period_began_at'),
    stored: 's.period_tokens',
    before: ['period', 'periodTokens'],
  },
  { counter: 'uses', place: '', stored: 's.use_no', before: null },
];

/** SQL: the part of a counter `v` that comes from records that retention has dropped. */
const dropped = (row: string, owner: string): string => `coalesce((
    select sum(d.amount) from dropped_uses d join dropped_months m on m.month = d.dropped_in and m.dropped_at is not null
    where d.account_id = ${row}.account_id and d.owner_id = ${owner} and d.counter = v.counter and d.place = v.place
  ), 0)`;

/** SQL: the owners that count a charge. */
const CHARGED_OWNERS = [
  'c.counted_key',
  ...['member', 'keyModel', 'memberModel'].map((owner) => `(c.counted_key -> '${owner}')`),
];

/** SQL: the periods in which the budgets of end users and tags count a charge. */
const CALLER_CHARGES = KEY_COUNTERS.filter(({ of, period }) => of === 'charges' && period !== null)
  .map(({ counter, period }) => `('${counter}', o.counted ->> '${period}')`)
  .join(', ');

/**
 * SQL: whether a counter `v` of a row `l` is checked. Rows of end users and tags are deleted when they are not used, so their totals begin
 * again; the daily calls of a default budget are not calls, but rows (`reservations/limits/caller-budgets.ts`).
 */
const IS_CHECKED = `(v.counter not in ('all', 'calls') or not ${isOfCaller('l.key_id')})`;

const KEY_CHARGES = KEY_COUNTERS.filter(({ of }) => of === 'charges')
  .flatMap(({ counter, period }) =>
    CHARGED_OWNERS.map((counted) => {
      const place = period === null ? "''" : `${counted} ->> '${period}'`;
      return `(${counted} ->> 'id', '${counter}', ${place})`;
    }),
  )
  .join(',\n      ');

const KEY_CALLS = KEY_COUNTERS.filter(({ of }) => of === 'calls')
  .map(({ counter, period }) => `('${counter}', ${period === null ? "''" : `u.${period}`}, u.calls)`)
  .join(',\n      ');

/**
 * Compares all counters of a range of accounts. An empty owner id means the account. Charges and calls are first grouped by owner and
 * period, because each counter counts one period only. Uses primary keys and the index of dropped_uses by account.
 */
export const auditCounters: Statement = {
  name: 'audit.counters',
  text: `with counters as (
  select b.account_id, '' as owner_id, v.counter, v.place, v.stored, v.known
  from balances b
  cross join lateral ${countersOf('b', OF_ACCOUNT)}
  where ${inRange('b')}
  union all
  select l.account_id, l.key_id, v.counter, v.place, v.stored, v.known + ${dropped('l', 'l.key_id')}
  from key_limits l
  left join (
    select r.account_id, o.id, o.day_no, count(*) as calls from reservations r
    cross join lateral (values (r.key_id, r.key_day_no), (r.member_id, r.member_day_no)) as o (id, day_no)
    where o.day_no is not null and ${inRange('r')} group by r.account_id, o.id, o.day_no
  ) f on f.account_id = l.account_id and f.id = l.key_id and f.day_no = l.day_no
  cross join lateral ${countersOf('l', OF_KEY)}
  where ${inRange('l')} and ${IS_CHECKED}
  union all
  select s.account_id, s.id, v.counter, v.place, v.stored, v.known + ${dropped('s', 's.id')}
  from subscriptions s
  left join (
    select r.account_id, r.subscription_id, r.week_no, count(*) as calls from reservations r
    where r.subscription_id is not null and ${inRange('r')} group by r.account_id, r.subscription_id, r.week_no
  ) f on f.account_id = s.account_id and f.subscription_id = s.id and f.week_no = s.week_no
  cross join lateral ${countersOf('s', OF_SUBSCRIPTION)}
  where ${inRange('s')}
),
charged as (
  select e.account_id, e.day_no, e.day_began_at, e.counted_key, -sum(e.amount_nano) as amount
  from ledger_entries e where e.kind = 'charge' and e.day_no is not null and ${inRange('e')}
  group by e.account_id, e.day_no, e.day_began_at, e.counted_key
),
used as (
  select c.account_id, u.owner_id, u.use ->> 'week' as week, u.use ->> 'period' as period, u.use ->> 'day' as day,
    count(*) as calls, sum((u.use ->> 'tokens')::bigint) as tokens
  from calls c
  cross join lateral (values
    (c.counted #>> '{plan,id}', c.counted -> 'plan'),
    (case when c.counted ? 'key' then c.key_id end, c.counted -> 'key'),
    (c.counted #>> '{member,id}', c.counted -> 'member')
  ) as u (owner_id, use)
  where c.counted is not null and u.owner_id is not null and ${inRange('c')}
  group by 1, 2, 3, 4, 5
),
sums as (
  select account_id, owner_id, counter, place, sum(amount) as amount
  from (
    select c.account_id, s.owner_id, s.counter, s.place, c.amount
    from charged c cross join lateral (values
      ('', 'spent', ${placeSql('c.day_no', 'c.day_began_at')}),
      ${KEY_CHARGES}
    ) as s (owner_id, counter, place)
    union all
    select c.account_id, o.counted ->> 'id', s.counter, s.place, c.amount
    from charged c cross join lateral jsonb_array_elements(c.counted_key -> 'callers') as o (counted)
    cross join lateral (values ${CALLER_CHARGES}) as s (counter, place)
    union all
    select u.account_id, u.owner_id, s.counter, s.place, s.amount
    from used u cross join lateral (values
      ('weekCalls', u.week, u.calls::numeric), ('periodTokens', u.period, u.tokens), ('uses', '', u.calls),
      ${KEY_CALLS}
    ) as s (counter, place, amount)
  ) counted
  where owner_id is not null and place is not null
  group by account_id, owner_id, counter, place
)
select ${caseOf(({ invariant }) => `'${invariant}'`)} as invariant, c.account_id,
  case c.owner_id when '' then 'the account' else c.owner_id end || ' counts ' || c.stored || ' '
    || ${caseOf(wordsSql)}
    || ', records ' || c.expected as detail
from (
  select c.*, c.known + coalesce(s.amount, 0) as expected
  from counters c left join sums s using (account_id, owner_id, counter, place)
) c
where c.stored <> c.expected limit ${BREACHES_MAX}`,
};
