import { type Statement, type TableReader, toArray } from '../../db/database.ts';
import { CounterCheck, type StoredCounter, type UseNumber, type WrongCounter } from './audit-counts.ts';
import type { AccountRange } from './audit-slices-store.ts';

/** The SQL of counters that are compared with sums of records (`audit-counts.ts`). The records are read by `audit-slices-store.ts`. */

/** SQL: the rows of the accounts of a range, which are $1 and $2. */
const inRange = (row: string): string => `${row}.account_id > $1::text and ${row}.account_id <= $2::text`;

/** SQL: an amount that was counted before there were records of it, where a condition says that it still counts. */
const before = (row: string, name: string, condition: string): string =>
  `case when ${condition} then coalesce((${row}.counted_before ->> '${name}')::numeric, 0) else 0 end`;

const dayText = (day: string): string => `to_char(${day}, 'YYYY-MM-DD')`;

/** SQL: the first day of the week or the month of a day. */
const firstOf = (unit: 'week' | 'month', day: string): string => `date_trunc('${unit}', (${day})::timestamp)::date`;

/** SQL: the day of what had been counted before. */
const DAY_BEFORE = `(l.counted_before ->> 'day')::date`;

const ofKey = (counter: string, place: string, stored: string, known: string): string =>
  `('${counter}', ${place}, ${stored}, ${known})`;

/**
 * The counters of a range, with what calls in flight count in them and up to where records are summed: all of one moment. The mark
 * of an account is its last entry itself, whatever its balance says of it. Plans: primary keys, along the index.
 */
const readCounters: Statement = {
  name: 'audit.read-counters',
  text: `select b.account_id, '' as owner_id, 'spent' as counter, ${dayText('b.spent_on')} as place, b.spent_nano::text as stored,
  (${before('b', 'spent', `(b.counted_before ->> 'day')::date = b.spent_on`)})::text as known,
  coalesce((
    select e.entry_no from ledger_entries e where e.account_id = b.account_id order by e.entry_no desc limit 1
  ), 0)::text as mark
from balances b where ${inRange('b')}
union all
select l.account_id, l.key_id, v.counter, v.place, v.stored::text, v.known::text, l.use_no::text
from key_limits l
left join (
  select r.account_id, r.key_id, r.key_day, count(*) as calls from reservations r
  where r.key_day is not null and ${inRange('r')} group by r.account_id, r.key_id, r.key_day
) f on f.account_id = l.account_id and f.key_id = l.key_id and f.key_day = l.day
cross join lateral (values
  ${[
    ofKey('day', dayText('l.day'), 'l.spent_nano', before('l', 'spent', `${DAY_BEFORE} = l.day`)),
    ofKey(
      'week',
      dayText(firstOf('week', 'l.day')),
      'l.week_spent_nano',
      before('l', 'week', `${firstOf('week', DAY_BEFORE)} = ${firstOf('week', 'l.day')}`),
    ),
    ofKey(
      'month',
      dayText(firstOf('month', 'l.day')),
      'l.month_spent_nano',
      before('l', 'month', `${firstOf('month', DAY_BEFORE)} = ${firstOf('month', 'l.day')}`),
    ),
    ofKey('all', `''`, 'l.total_spent_nano', before('l', 'all', 'true')),
    ofKey(
      'calls',
      dayText('l.day'),
      'l.calls',
      `coalesce(f.calls, 0) + ${before('l', 'calls', `${DAY_BEFORE} = l.day`)}`,
    ),
    ofKey('uses', `''`, 'l.use_no', '0'),
  ].join(',\n  ')}
) as v (counter, place, stored, known)
where ${inRange('l')}
union all
select s.account_id, s.id, v.counter, v.place, v.stored::text, v.known::text, s.use_no::text
from subscriptions s
left join (
  select r.account_id, r.subscription_id, r.week_no, count(*) as calls from reservations r
  where r.subscription_id is not null and ${inRange('r')} group by r.account_id, r.subscription_id, r.week_no
) f on f.account_id = s.account_id and f.subscription_id = s.id and f.week_no = s.week_no
cross join lateral (values
  ('weekCalls', s.week_no::text, s.week_calls,
    coalesce(f.calls, 0) + ${before('s', 'weekCalls', `(s.counted_before ->> 'week')::bigint = s.week_no`)}),
  ('periodTokens', s.period_no::text, s.period_tokens,
    ${before('s', 'periodTokens', `(s.counted_before ->> 'period')::bigint = s.period_no`)}),
  ('uses', '', s.use_no, 0)
) as v (counter, place, stored, known)
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
export async function readCounterCheck(reader: TableReader, { behind, upTo }: AccountRange): Promise<CounterCheck> {
  return new CounterCheck(await reader.query<StoredCounter>(readCounters, [behind, upTo]));
}

/** Which of them differ, after all records of the range have been added. */
export async function wrongCounters(reader: TableReader, check: CounterCheck): Promise<WrongCounter[]> {
  const { aboveMark } = check;
  const now =
    aboveMark.length === 0
      ? []
      : await reader.query<UseNumber>(readUseNumbers, [
          toArray(aboveMark.map(({ accountId }) => accountId)),
          toArray(aboveMark.map(({ ownerId }) => ownerId)),
        ]);
  return check.findings(now);
}
