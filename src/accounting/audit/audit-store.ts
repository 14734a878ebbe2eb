import type { Statement } from '../../db/database.ts';
import type {
  HomeQueryables,
  PartitionedDatabases,
  PartitionedQueryables,
  PartitionQueryable,
  QueryableOf,
} from '../../db/home-lanes.ts';
import type { Home } from '../../db/homes.ts';
import { booleanColumn, intColumn, orNull, selection, textColumn } from '../../db/table.ts';
import type { Pace } from '../../lib/pace.ts';
import { inPartition } from '../partitions/partition-failures.ts';
import { auditBalances } from './audit-accounts-store.ts';
import { readCounterCheck, wrongCounters } from './audit-counts-store.ts';
import { readDroppedCheck, readDrops } from './audit-dropped-store.ts';
import { BREACHES_MAX, Findings, type FoundBreach, type InvariantId, type InvariantResult } from './audit-findings.ts';
import { type AccountRange, auditCalls, auditEntries, inRange, type Slice } from './audit-slices-store.ts';
import { auditUsage } from './audit-usage-store.ts';
import { auditGifts, auditRedemptions } from './audit-vouchers-store.ts';

/**
 * The audit reads a database in slices: ranges of accounts, and within each its entries and calls so many at a time
 * (`audit-slices-store.ts`), and its sums of usage by as many accounts as have so many of them (`audit-usage-store.ts`). What an
 * invariant compares is read by one statement, so all of it is of one moment; or it is a counter that is read with a mark, and final
 * records up to that mark (`audit-counts.ts`); or one side of it is there before the other, and stays (`audit-accounts-store.ts`,
 * `audit-vouchers-store.ts`).
 *
 * Ranges are of one partition after the other. What is compared with the directory is compared with the accounts that it says are there.
 */

/** How far an audit has got. */
export interface AuditProgress {
  readonly accounts: number;
  /** As many as there were at the beginning. */
  readonly accountsTotal: number;
  readonly entries: number;
  readonly calls: number;
}

export interface AuditOptions {
  readonly onProgress?: (progress: AuditProgress) => void;
  /** Ends the audit after a statement; it then fails with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Runs a statement, and leaves the database to others in between. */
  readonly pace?: Pace;
  /** For tests: accounts of a range, and rows of a slice. */
  readonly accountsMax?: number;
  readonly rowsMax?: number;
}

const ACCOUNTS_MAX = 500;
const ROWS_MAX = 5_000;

/** SQL: whether an entry `e` is of a call whose record was dropped, if there is none. Plans: primary keys. */
const isOfDroppedMonth = (row: string): string => `exists (
        select from dropped_calls w join dropped_months m on m.month = w.dropped_in and m.dropped_at is not null
        where w.account_id = ${row}.account_id and w.month = month_of_call(${row}.call_id)
      )`;

/**
 * Invariants of what is small in each account: a statement that finds what is broken in a range of accounts, as rows of
 * `(account_id, detail)`. Every table that it joins is limited to the range. Plans: primary keys and ledger_refunds_by_call, along the
 * index.
 */
const ofAccounts: { readonly [Id in InvariantId]?: string } = {
  'reserved-sum': `select b.account_id, 'reserved ' || b.reserved_nano || ', reservations ' || coalesce(sum(r.amount_nano), 0) as detail
from balances b left join reservations r on r.account_id = b.account_id and ${inRange('r')}
where ${inRange('b')}
group by b.account_id, b.reserved_nano having b.reserved_nano <> coalesce(sum(r.amount_nano), 0)`,
  // Calls are looked up one by one, so that no plan reads all calls of the accounts.
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
  'key-in-flight': `select l.account_id, l.key_id || ' counts ' || l.in_flight || ', reservations ' || count(r.call_id) as detail
from key_limits l
left join (
  select r.account_id, r.call_id, o.id, o.amount_nano from reservations r
  cross join lateral (values
    (r.key_id, r.key_day_no, r.key_amount_nano), (r.member_id, r.member_day_no, coalesce(r.amount_nano, 0))
  ) as o (id, day_no, amount_nano)
  where o.day_no is not null and ${inRange('r')}
) r on r.account_id = l.account_id and r.id = l.key_id
where ${inRange('l')}
group by l.account_id, l.key_id, l.in_flight, l.reserved_nano
having l.in_flight <> count(r.call_id) or l.reserved_nano <> coalesce(sum(r.amount_nano), 0)`,
  'ended-reservations': `select r.account_id, 'call ' || r.call_id as detail from reservations r
where ${inRange('r')} and (select count(*) from calls c where c.account_id = r.account_id and c.id = r.call_id) > 0`,
};

/** All of them in one statement: a small database has one range, and then the statements are what an audit takes. */
const auditAccounts: Statement = {
  name: 'audit.accounts',
  text: Object.entries(ofAccounts)
    .map(([id, text]) => `(select '${id}' as invariant, broken.* from (${text}) broken limit ${BREACHES_MAX})`)
    .join('\nunion all\n'),
};

/** Index only. */
const countAccounts: Statement = { name: 'audit.count-accounts', text: 'select count(*)::int as n from balances' };

const NEXT_RANGES = selection({
  accounts: intColumn('accounts'),
  /** `null` if there is no further account. */
  upTo: orNull(
    textColumn(`case when accounts = $2::int then last_id else (
  select max(account_id) from (
    ${['balances', 'ledger_entries', 'calls', 'reservations', 'subscriptions', 'key_limits']
      .map((table) => `(select account_id from ${table} where account_id > $1::text order by account_id desc limit 1)`)
      .join('\n    union all ')}
  ) greatest_ids
) end as up_to`),
  ),
  isLast: booleanColumn('accounts < $2::int as is_last'),
});

/**
 * The next range of so many accounts. The last one goes up to the greatest account that any table has, with or without a
 * balance. Plans: primary keys, backwards.
 */
const nextRange: Statement = {
  name: 'audit.next-range',
  text: `with next as materialized (
  select count(*)::int as accounts, max(account_id) as last_id from (
    select account_id from balances where account_id > $1::text order by account_id limit $2::int
  ) b
)
select ${NEXT_RANGES.list}
from next`,
};

/** The accounts of a database, range by range. */
async function* ranges(
  reader: PartitionQueryable,
  accountsMax: number,
): AsyncGenerator<AccountRange & { accounts: number }> {
  let behind = '';
  for (;;) {
    const [row] = await reader.query(nextRange, [behind, accountsMax]);
    const { accounts, upTo, isLast } = NEXT_RANGES.read(row!);
    if (upTo === null) return;
    yield { behind, upTo, accounts };
    if (isLast) return;
    behind = upTo;
  }
}

/** What was found in a range of accounts, and how many rows of it were read. */
interface RangeResult extends RowsRead {
  readonly findings: Findings;
}

type RowsRead = Readonly<Record<'entries' | 'calls', number>>;
type OnRead = (read: RowsRead) => void;

/** What both sides of a range are read from. */
interface OnePartition extends HomeQueryables {
  readonly number: number;
  /** How many there are. */
  readonly count: number;
}

/** A range whose records are all there, or dropped, from the beginning to the end: it is read anew where some were dropped meanwhile. */
async function auditWhole(
  tables: OnePartition,
  range: AccountRange,
  rowsMax: number,
  onRead: OnRead,
): Promise<RangeResult> {
  for (;;) {
    const drops = await readDrops(tables.partition);
    const result = await auditRange(tables, range, rowsMax, onRead);
    if ((await readDrops(tables.partition)) === drops) return result;
  }
}

async function auditRange(
  tables: OnePartition,
  range: AccountRange,
  rowsMax: number,
  onRead: OnRead,
): Promise<RangeResult> {
  const { partition: reader, number, count } = tables;
  const findings = new Findings(count);
  const add = (breaches: readonly FoundBreach[]): void => findings.add({ partition: number, breaches });
  const read = { entries: 0, calls: 0 };
  const counters = await readCounterCheck(reader, range);
  const written = await readDroppedCheck(reader, range);
  const readAll = async (slices: AsyncIterable<Slice>, counted: keyof RowsRead): Promise<void> => {
    for await (const { breaches, rowsRead, sums, above, dropped } of slices) {
      add(breaches);
      counters.add(sums, above);
      written.add(dropped);
      read[counted] += rowsRead;
      onRead(read);
    }
  };
  await readAll(auditEntries(reader, range, rowsMax, counters.marks), 'entries');
  add(await reader.query<FoundBreach>(auditAccounts, [range.behind, range.upTo]));
  for await (const breaches of auditGifts(tables, range, rowsMax)) add(breaches);
  for await (const breaches of auditUsage(reader, range, rowsMax)) add(breaches);
  await readAll(auditCalls(reader, range, rowsMax, counters.marks), 'calls');
  add(await wrongCounters(reader, counters));
  add(written.findings());
  return { findings, ...read };
}

type Closable = { close(): Promise<void> };

/** The databases of the directory and of all partitions. */
export interface AuditedDatabases {
  readonly directory: Pick<PartitionedDatabases['directory'], 'audit' | 'openTables'>;
  readonly partitions: readonly Pick<PartitionedDatabases['partitions'][number], 'openTables'>[];
}

/**
 * Checks every invariant on the whole database, while calls go on. The books are sound if no invariant has a breach. Accounts
 * that are made after the last range was chosen are left to the next audit.
 *
 * @throws PartitionError of the first partition that does not respond, if there are several.
 */
export function auditLedger(
  { directory, partitions }: AuditedDatabases,
  options: AuditOptions = {},
): Promise<InvariantResult[]> {
  // The directory has the turn of all audits.
  return directory.audit(async () => {
    const opened: Closable[] = [];
    const opening = async <Reader extends Closable>(reading: Promise<Reader>): Promise<Reader> => {
      const reader = await reading;
      opened.push(reader);
      return reader;
    };
    try {
      const directoryTables = await opening(directory.openTables());
      const ofPartitions: PartitionQueryable[] = [];
      for (const [number, partition] of partitions.entries()) {
        ofPartitions.push(await inPartition(number, partitions.length, () => opening(partition.openTables())));
      }
      const tables = { directory: directoryTables, partitions: ofPartitions };
      return await auditTables(tables, options.rowsMax ?? ROWS_MAX, options);
    } finally {
      await Promise.all(opened.map((tables) => tables.close()));
    }
  });
}

async function auditTables(
  unpaced: PartitionedQueryables,
  rowsMax: number,
  options: AuditOptions,
): Promise<InvariantResult[]> {
  const { signal, onProgress, pace = (statement) => statement(), accountsMax = ACCOUNTS_MAX } = options;
  const paced = <Which extends Home>(reader: QueryableOf<Which>): QueryableOf<Which> => ({
    query: (statement, parameters) => {
      signal?.throwIfAborted();
      return pace(() => reader.query(statement, parameters));
    },
  });
  const count = unpaced.partitions.length;
  const tables: PartitionedQueryables = {
    directory: paced(unpaced.directory),
    partitions: unpaced.partitions.map((reader, number) =>
      paced({ query: (...asked) => inPartition(number, count, () => reader.query(...asked)) }),
    ),
  };
  const findings = new Findings(count);
  const progress = { accounts: 0, accountsTotal: 0, entries: 0, calls: 0 };
  for (const partition of tables.partitions) {
    const [total] = await partition.query<{ n: number }>(countAccounts);
    progress.accountsTotal += total!.n;
  }
  for await (const found of auditBalances(tables, rowsMax)) findings.add(found);
  for (const [number, partition] of tables.partitions.entries()) {
    const one: OnePartition = { directory: tables.directory, partition, number, count };
    for await (const range of ranges(partition, accountsMax)) {
      const ofRange = await auditWhole(one, range, rowsMax, (read) =>
        onProgress?.({ ...progress, entries: progress.entries + read.entries, calls: progress.calls + read.calls }),
      );
      findings.addAll(ofRange.findings);
      progress.entries += ofRange.entries;
      progress.calls += ofRange.calls;
      progress.accounts += range.accounts;
    }
  }
  for await (const found of auditRedemptions(tables, rowsMax)) findings.add(found);
  onProgress?.({ ...progress });
  return findings.results();
}
