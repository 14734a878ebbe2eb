import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-lanes.ts';
import { KEY_COUNTERS } from '../accounts/key-limit-tables.ts';
import { placeSql } from '../counts/counted-use.ts';
import type { Above, Marks, Sum } from './audit-counts.ts';
import type { DroppedCharges } from './audit-dropped.ts';
import { BREACHES_MAX, type FoundBreach } from './audit-findings.ts';

/**
 * The SQL of the two parts of an audit that grow with every call: the entries of accounts, and their calls beside the charges
 * of these. A statement reads a slice of so many rows and finds what is broken in it. Each is one snapshot, and what it compares
 * was written by one transaction, so calls that end between two slices, or during one, never look broken.
 *
 * On the way both sum what entries and calls count for, up to the marks of the counters (`audit-counts-store.ts`).
 */

/** Accounts by their ids: behind the first one, up to and with the last one. */
export interface AccountRange {
  readonly behind: string;
  readonly upTo: string;
}

/** SQL: the rows of the accounts of a range, which are $1 and $2. */
export const inRange = (row: string): string => `${row}.account_id > $1::text and ${row}.account_id <= $2::text`;

/** What a slice found, and how many rows it read. */
export interface Slice {
  readonly breaches: readonly FoundBreach[];
  readonly rowsRead: number;
  readonly sums: readonly Sum[];
  /** Of calls: what is behind a mark. */
  readonly above: readonly Above[];
  /** Charges of calls whose records were dropped. */
  readonly dropped: readonly DroppedCharges[];
}

/** A row of a slice: a breach; in the last row, where `invariant` is null, where the next slice begins. */
type SliceRow<Next> = (FoundBreach & { readonly [Name in keyof Next]: null }) | ({ readonly invariant: null } & Next);

function split<Next>(rows: readonly SliceRow<Next>[]): { breaches: FoundBreach[]; next: Next } {
  return {
    breaches: rows.filter(
      (row): row is FoundBreach & { readonly [Name in keyof Next]: null } => row.invariant !== null,
    ),
    next: rows.find((row) => row.invariant === null) as Next,
  };
}

/** SQL: the counters of keys, and of the people whose keys they are, that are sums of charges `c`. */
const KEY_CHARGES = KEY_COUNTERS.filter(({ of }) => of === 'charges')
  .flatMap(({ counter, period }) =>
    ['c.counted_key', `(c.counted_key -> 'member')`].map((counted) => {
      const place = period === null ? "''" : `${counted} ->> '${period}'`;
      return `(${counted} ->> 'id', '${counter}', ${place})`;
    }),
  )
  .join(',\n    ');

/** SQL: those that are numbers of calls `u`. */
const KEY_CALLS = KEY_COUNTERS.filter(({ of }) => of === 'calls')
  .map(({ counter, period }) => `('${counter}', ${period === null ? "''" : `u.${period}`}, u.calls)`)
  .join(',\n    ');

/** SQL: sums as `Sum`s. */
const SUMS = `(
    select coalesce(json_agg(json_build_array(account_id, owner_id, counter, place, amount::text)), '[]') from sums
  )`;

/** An entry number behind every other one: nothing more of that account is read. */
const NO_MORE = '9223372036854775807';

/**
 * Entries behind ($1, $2), up to account $3, $4 rows at most. If there are more, the last account may go on: its count, sum
 * and last balance are carried into the next slice ($5, $6, $7), and its row in balances is compared there. Entries never change,
 * so what was carried is still true there. Plan: primary keys of ledger_entries and balances, along the index.
 */
const sliceEntries: Statement = {
  name: 'audit.slice-entries',
  text: `with part as materialized (
  select e.account_id, e.entry_no, e.amount_nano, e.balance_after_nano, e.kind, e.day_no, e.day_began_at,
    e.counted_key
  from ledger_entries e
  where (e.account_id, e.entry_no) > ($1::text, $2::bigint) and e.account_id <= $3::text
  order by e.account_id, e.entry_no limit $4::int
),
unfinished as materialized (select max(account_id) as account_id from part having count(*) = $4::int),
chain as (
  select account_id, entry_no, amount_nano, balance_after_nano,
    row_number() over each + case when account_id = $1::text then $5::bigint else 0 end as expected_no,
    coalesce(lag(balance_after_nano) over each, case when account_id = $1::text then $7::bigint else 0 end) as balance_before_nano
  from part window each as (partition by account_id order by entry_no)
),
totals as materialized (
  select account_id, count(*) + case when account_id = $1::text then $5::bigint else 0 end as entries,
    sum(amount_nano) + case when account_id = $1::text then $6::numeric else 0 end as amount_nano, max(entry_no) as last_no
  from part group by account_id
),
charged as materialized (
  select p.account_id, p.day_no, p.day_began_at, p.counted_key, -sum(p.amount_nano) as amount
  from part p join unnest($8::text[], $9::bigint[]) as m (account_id, mark) using (account_id)
  where p.kind = 'charge' and p.day_no is not null and p.entry_no <= m.mark
  group by p.account_id, p.day_no, p.day_began_at, p.counted_key
),
sums as (
  select c.account_id, s.owner_id, s.counter, s.place, sum(c.amount) as amount
  from charged c
  cross join lateral (values
    ('', 'spent', ${placeSql('c.day_no', 'c.day_began_at')}),
    ${KEY_CHARGES}
  ) as s (owner_id, counter, place)
  where s.owner_id is not null
  group by c.account_id, s.owner_id, s.counter, s.place
),
owners as (
  select b.account_id, b.balance_nano, b.last_entry_no,
    coalesce(t.amount_nano, case when b.account_id = $1::text then $6::numeric else 0 end) as amount_nano,
    coalesce(t.last_no, case when b.account_id = $1::text then $2::bigint else 0 end) as last_no
  from balances b left join totals t using (account_id)
  where b.account_id >= $1::text and b.account_id <= $3::text and (b.account_id > $1::text or $2::bigint <> ${NO_MORE})
    and not exists (select from unfinished u where b.account_id >= u.account_id)
)
(
  select 'balance-sum' as invariant, account_id, 'balance ' || balance_nano || ', entries ' || amount_nano as detail,
    null::text as next_account, null::text as entry_no, null::text as entries, null::text as amount_nano,
    null::text as balance_after_nano, null::int as rows_read, null::json as sums
  from owners where balance_nano <> amount_nano limit ${BREACHES_MAX}
)
union all (
  select 'last-entry', account_id, 'last ' || last_entry_no || ', ledger ' || last_no, null, null, null, null, null, null, null
  from owners where last_entry_no <> last_no limit ${BREACHES_MAX}
)
union all (
  select 'entry-chain', account_id, 'entry ' || entry_no, null, null, null, null, null, null, null
  from chain where entry_no <> expected_no or balance_after_nano <> balance_before_nano + amount_nano limit ${BREACHES_MAX}
)
union all
select null, null, null, u.account_id, t.last_no::text, t.entries::text, t.amount_nano::text, p.balance_after_nano::text,
  (select count(*)::int from part), ${SUMS}
from (values (1)) as one (row)
left join unfinished u on true
left join totals t on t.account_id = u.account_id
left join part p on p.account_id = u.account_id and p.entry_no = t.last_no`,
};

interface NextEntries {
  readonly next_account: string | null;
  readonly entry_no: string | null;
  readonly entries: string | null;
  readonly amount_nano: string | null;
  readonly balance_after_nano: string | null;
  readonly rows_read: number;
  readonly sums: readonly Sum[];
}

/** Balances, and the ledger of each: sum, last number, and the chain of its entries. */
export async function* auditEntries(
  reader: PartitionQueryable,
  { behind, upTo }: AccountRange,
  rowsMax: number,
  marks: Marks,
): AsyncGenerator<Slice> {
  let from = [behind, NO_MORE, '0', '0', '0'];
  for (;;) {
    const [account, entryNo, ...carried] = from;
    const ahead = marks.entries.filter(({ accountId }) => accountId >= account!);
    const rows = await reader.query<SliceRow<NextEntries>>(sliceEntries, [
      account!,
      entryNo!,
      upTo,
      rowsMax,
      ...carried,
      ...fieldsOf(ahead, 'accountId', 'mark'),
    ]);
    const { breaches, next } = split(rows);
    yield { breaches, rowsRead: next.rows_read, sums: next.sums, above: [], dropped: [] };
    if (next.next_account === null) return;
    from = [next.next_account, next.entry_no!, next.entries!, next.amount_nano!, next.balance_after_nano!];
  }
}

/** Of a call `s`: only unresolved and resolved calls say what they had reserved; the first have no charge, the others none above it. */
const IS_UNRESOLVED_BROKEN = `case s.status when 'unresolved' then s.charge_nano is not null
      when 'resolved' then s.charge_nano > coalesce(s.reserved_nano, 0) else s.reserved_nano is not null end`;

/**
 * Calls and charges up to account $3, $4 rows of each at most, and of both only those up to where the shorter one ends: every call
 * there is beside its charge. Charges without a record are summed by the month of their ids where the account has records of that
 * month which were dropped. Plans: primary keys of the months, ledger_one_charge_a_call, along the index; price_lists and
 * dropped_calls by their primary keys.
 */
const sliceCalls = (name: string, isBehind: (account: string, call: string) => string): Statement => ({
  name,
  text: `with part as materialized (
  select c.account_id, c.id, c.status, c.context, c.charge_nano, c.reserved_nano, c.price_list, c.key_id, c.counted from calls c
  where ${isBehind('c.account_id', 'c.id')} and c.account_id <= $3::text
  order by c.account_id, c.id limit $4::int
),
charges as materialized (
  select e.account_id, e.call_id, e.entry_no, e.amount_nano from ledger_entries e
  where e.kind = 'charge' and ${isBehind('e.account_id', 'e.call_id')} and e.account_id <= $3::text
  order by e.account_id, e.call_id limit $4::int
),
stop as materialized (
  select account_id, call_id from (
    (select account_id, id as call_id from part offset $4::int - 1 limit 1)
    union all (select account_id, call_id from charges offset $4::int - 1 limit 1)
  ) ends order by account_id, call_id limit 1
),
both_sides as (
  select coalesce(c.account_id, e.account_id) as account_id, coalesce(c.id, e.call_id) as call_id, e.entry_no, e.amount_nano,
    c.status, c.context, c.charge_nano, c.reserved_nano, c.price_list
  from part c full join charges e on e.account_id = c.account_id and e.call_id = c.id
),
uses as materialized (
  select c.account_id, u.owner_id, u.use, (u.use ->> 'no')::bigint as no, m.mark
  from part c
  cross join lateral (values
    (c.counted #>> '{plan,id}', c.counted -> 'plan'),
    (case when c.counted ? 'key' then c.key_id end, c.counted -> 'key'),
    (c.counted #>> '{member,id}', c.counted -> 'member')
  ) as u (owner_id, use)
  join unnest($5::text[], $6::text[], $7::bigint[]) as m (account_id, owner_id, mark)
    on m.account_id = c.account_id and m.owner_id = u.owner_id
  where c.counted is not null
    and not exists (select from stop where (c.account_id, c.id) > (stop.account_id, stop.call_id))
),
used as (
  select account_id, owner_id, use ->> 'week' as week, use ->> 'period' as period, use ->> 'day' as day, count(*) as calls,
    sum((use ->> 'tokens')::bigint) as tokens
  from uses where no <= mark group by 1, 2, 3, 4, 5
),
sums as (
  select u.account_id, u.owner_id, s.counter, s.place, sum(s.amount) as amount
  from used u
  cross join lateral (values
    ('weekCalls', u.week, u.calls::numeric), ('periodTokens', u.period, u.tokens), ('uses', '', u.calls),
    ${KEY_CALLS}
  ) as s (counter, place, amount)
  where s.place is not null
  group by u.account_id, u.owner_id, s.counter, s.place
),
above as (
  select account_id, owner_id, max(no) as no from uses where no > mark group by account_id, owner_id
),
suspect as materialized (
  select s.*, s.price_list is not null and l.id is null as has_no_prices,
    case when s.status is null then (
      select min(d.month) from dropped_calls d join dropped_months m on m.month = d.dropped_in and m.dropped_at is not null
      where d.account_id = s.account_id and d.month = month_of_call(s.call_id)
    ) end as dropped_month
  from both_sides s left join price_lists l on l.id = s.price_list
  where not exists (select from stop where (s.account_id, s.call_id) > (stop.account_id, stop.call_id)) and (
    s.amount_nano is distinct from -s.charge_nano or s.price_list is not null and l.id is null
    or ${IS_UNRESOLVED_BROKEN}
    or s.context = 'coding' and s.charge_nano is not null
  )
)
(
  select v.invariant, s.account_id, v.detail, null::text as next_account, null::text as next_call, null::int as rows_read,
    null::json as sums, null::json as above, null::json as dropped
  from suspect s cross join lateral (values
    ('settled-calls', s.charge_nano is not null and s.amount_nano is distinct from -s.charge_nano, 'call ' || s.call_id),
    ('charge-calls', s.entry_no is not null and s.charge_nano is null and s.dropped_month is null, 'entry ' || s.entry_no || ' of call ' || s.call_id),
    ('unresolved-charges',
      ${IS_UNRESOLVED_BROKEN}, 'call ' || s.call_id),
    ('recorded-prices', s.has_no_prices, 'call ' || s.call_id),
    ('coding-charges', s.context = 'coding' and s.charge_nano is not null, 'call ' || s.call_id)
  ) as v (invariant, is_broken, detail)
  where v.is_broken limit ${BREACHES_MAX * 5}
)
union all
select null, null, null, stop.account_id, stop.call_id, (select count(*)::int from part), ${SUMS},
  (select coalesce(json_agg(json_build_array(account_id, owner_id, no::text)), '[]') from above),
  (select coalesce(json_agg(json_build_array(account_id, dropped_month, charges::text, charge_nano::text)), '[]') from (
    select account_id, dropped_month, count(*) as charges, -sum(amount_nano) as charge_nano
    from suspect where dropped_month is not null group by account_id, dropped_month
  ) d)
from (values (1)) as one (row) left join stop on true`,
});

const firstCalls = sliceCalls('audit.first-calls', (account) => `${account} > $1::text and $2::text is not null`);
const nextCalls = sliceCalls('audit.next-calls', (account, call) => `(${account}, ${call}) > ($1::text, $2::text)`);

interface NextCalls {
  readonly next_account: string | null;
  readonly next_call: string | null;
  readonly rows_read: number;
  readonly sums: readonly Sum[];
  readonly above: readonly Above[];
  readonly dropped: readonly DroppedCharges[];
}

/** Call records, and the charge of each. */
export async function* auditCalls(
  reader: PartitionQueryable,
  { behind, upTo }: AccountRange,
  rowsMax: number,
  marks: Marks,
): AsyncGenerator<Slice> {
  let statement = firstCalls;
  let [account, call] = [behind, ''];
  for (;;) {
    const ahead = marks.uses.filter(({ accountId }) => accountId >= account);
    const parameters = [account, call, upTo, rowsMax, ...fieldsOf(ahead, 'accountId', 'ownerId', 'mark')];
    const { breaches, next } = split(await reader.query<SliceRow<NextCalls>>(statement, parameters));
    const { rows_read: rowsRead, sums, above, dropped } = next;
    yield { breaches, rowsRead, sums, above, dropped };
    if (next.next_account === null) return;
    statement = nextCalls;
    [account, call] = [next.next_account, next.next_call!];
  }
}
