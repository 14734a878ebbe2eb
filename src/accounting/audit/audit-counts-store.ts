import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-lanes.ts';
import { KEY_COUNTERS } from '../accounts/key-limit-tables.ts';
import { placeSql } from '../counts/counted-use.ts';
import { type Counter, CounterCheck, type StoredCounter, type UseNumber } from './audit-counts.ts';
import type { FoundBreach } from './audit-findings.ts';
import { type AccountRange, inRange } from './audit-slices-store.ts';

/** The SQL of counters that are compared with sums of records (`audit-counts.ts`). The records are read by `audit-slices-store.ts`. */

/** A counter: its name, the day, week, month or period that it counts, and columns. */
interface CounterSql {
  readonly counter: Counter;
  /** SQL; empty where it counts in all. */
  readonly place: string;
  readonly stored: string;
  /** The names of the place and the amount in `counted_before`. */
  readonly before: readonly [place: string | null, amount: string] | null;
  /** SQL: what calls in flight count. */
  readonly inFlight?: string;
}

/** SQL: what records of an owner that were dropped count in a counter `v`. Plan: primary key. */
const dropped = (row: string, owner: string): string => `coalesce((
    select sum(d.amount) from dropped_uses d join dropped_months m on m.month = d.dropped_in and m.dropped_at is not null
    where d.account_id = ${row}.account_id and d.owner_id = ${owner} and d.counter = v.counter and d.place = v.place
  ), 0)`;

/** SQL: rows of counters of a row, with what they count that no record says. */
function countersOf(row: string, counters: readonly CounterSql[]): string {
  const rows = counters.map(({ counter, place, stored, before, inFlight = '0' }) => {
    const known = before === null ? '0' : beforeSql(row, before, place);
    return `('${counter}', ${place === '' ? "''" : place}, ${stored}, ${inFlight} + ${known})`;
  });
  return `(values\n  ${rows.join(',\n  ')}\n) as v (counter, place, stored, known)`;
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

/**
 * The counters of a range, with what calls in flight count in them and up to where records are summed: all of one moment. The mark
 * of an account is its last entry itself, whatever its balance says of it. Plans: primary keys, along the index; dropped_uses by
 * its account.
 */
const readCounters: Statement = {
  name: 'audit.read-counters',
  text: `select b.account_id, '' as owner_id, v.counter, v.place, v.stored::text, v.known::text, coalesce((
    select e.entry_no from ledger_entries e where e.account_id = b.account_id order by e.entry_no desc limit 1
  ), 0)::text as mark
from balances b
cross join lateral ${countersOf('b', OF_ACCOUNT)}
where ${inRange('b')}
union all
select l.account_id, l.key_id, v.counter, v.place, v.stored::text, (v.known + ${dropped('l', 'l.key_id')})::text, l.use_no::text
from key_limits l
left join (
  select r.account_id, o.id, o.day_no, count(*) as calls from reservations r
  cross join lateral (values (r.key_id, r.key_day_no), (r.member_id, r.member_day_no)) as o (id, day_no)
  where o.day_no is not null and ${inRange('r')} group by r.account_id, o.id, o.day_no
) f on f.account_id = l.account_id and f.id = l.key_id and f.day_no = l.day_no
cross join lateral ${countersOf('l', OF_KEY)}
where ${inRange('l')}
union all
select s.account_id, s.id, v.counter, v.place, v.stored::text, (v.known + ${dropped('s', 's.id')})::text, s.use_no::text
from subscriptions s
left join (
  select r.account_id, r.subscription_id, r.week_no, count(*) as calls from reservations r
  where r.subscription_id is not null and ${inRange('r')} group by r.account_id, r.subscription_id, r.week_no
) f on f.account_id = s.account_id and f.subscription_id = s.id and f.week_no = s.week_no
cross join lateral ${countersOf('s', OF_SUBSCRIPTION)}
where ${inRange('s')}`,
};

/** Plans: primary keys. */
const readUseNumbers: Statement = {
  name: 'audit.read-use-numbers',
  text: `select l.account_id, l.key_id as owner_id, l.use_no::text as use_no
from unnest($1::text[], $2::text[]) as v (account_id, owner_id)
join key_limits l on l.account_id = v.account_id and l.key_id = v.owner_id
union all
select s.account_id, s.id, s.use_no::text
from unnest($1::text[], $2::text[]) as v (account_id, owner_id)
join subscriptions s on s.account_id = v.account_id and s.id = v.owner_id`,
};

/** What the counters of a range say, before its records are read. */
export async function readCounterCheck(
  reader: PartitionQueryable,
  { behind, upTo }: AccountRange,
): Promise<CounterCheck> {
  return new CounterCheck(await reader.query<StoredCounter>(readCounters, [behind, upTo]));
}

/** Which of them differ, after all records of the range have been added. */
export async function wrongCounters(reader: PartitionQueryable, check: CounterCheck): Promise<FoundBreach[]> {
  const { aboveMark } = check;
  const now =
    aboveMark.length === 0
      ? []
      : await reader.query<UseNumber>(readUseNumbers, fieldsOf(aboveMark, 'accountId', 'ownerId'));
  return check.findings(now);
}
