import type { Statement } from '../../db/database.ts';
import type { HomeQueryables, PartitionedDatabases, PartitionQueryable, QueryableOf } from '../../db/home-pools.ts';
import type { Home } from '../../db/homes.ts';
import type { Pace } from '../../lib/pace.ts';
import { inPartition } from '../partitions/partition-failures.ts';
import { compareBalances, findUnplaced, readAccounts } from './audit-accounts-store.ts';
import { auditCounters } from './audit-counts-store.ts';
import { Findings, type FoundBreach, type InvariantResult } from './audit-findings.ts';
import { auditLimits } from './audit-limits-store.ts';
import { type AccountRange, accountRanges, type RangeSize } from './audit-ranges-store.ts';
import { auditCalls, auditLedgers, countRecords } from './audit-records-store.ts';
import { auditUsage } from './audit-usage-store.ts';
import { compareGifts, findWithoutRedemption, readRedemptions } from './audit-vouchers-store.ts';

/** Each range of accounts has a snapshot of its own, because a long one blocks vacuum (docs/decisions/0078-audits-by-snapshots.md). */

/** How many rows the audit has read so far. */
export interface AuditProgress {
  readonly accounts: number;
  readonly accountsTotal: number;
  readonly entries: number;
  readonly calls: number;
}

export interface AuditOptions extends Partial<RangeSize> {
  readonly onProgress?: (progress: AuditProgress) => void;
  /** Stops the audit after the current statement. The audit then rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
  /** Runs the audit of each range. May pause between ranges, to limit the load. */
  readonly pace?: Pace;
}

/** A range takes about a second. Smaller ranges take more processor time in total (docs/decisions/0078-audits-by-snapshots.md). */
const RANGE_SIZE: RangeSize = { accountsMax: 10_000, entriesMax: 100_000 };

const OF_PARTITION: readonly Statement[] = [auditLedgers, auditLimits, auditUsage, auditCalls, auditCounters];

const countAccounts: Statement = { name: 'audit.count-accounts', text: 'select count(*)::int as n from balances' };

const beginSnapshot: Statement = {
  name: 'audit.begin-snapshot',
  text: 'begin isolation level repeatable read, read only',
};
/** Keeps retention from dropping tables. Locked before the snapshot begins, because even an older snapshot lacks a dropped table. */
const keepRecords: Statement = { name: 'audit.keep-records', text: 'lock table only calls in access share mode' };
const endSnapshot: Statement = { name: 'audit.end-snapshot', text: 'commit' };
const rollBack: Statement = { name: 'audit.roll-back', text: 'rollback' };

async function inSnapshot<Result>(reader: PartitionQueryable, work: () => Promise<Result>): Promise<Result> {
  await reader.query(beginSnapshot);
  try {
    await reader.query(keepRecords);
    const result = await work();
    await reader.query(endSnapshot);
    return result;
  } catch (error) {
    // On a failed connection this query fails too, but then the server rolls back by itself.
    await reader.query(rollBack).catch(() => undefined);
    throw error;
  }
}

type Closable = { close(): Promise<void> };

export interface AuditedDatabases {
  readonly directory: Pick<PartitionedDatabases['directory'], 'audit' | 'openTables'>;
  readonly partitions: readonly Pick<PartitionedDatabases['partitions'][number], 'openTables'>[];
}

/** Checks every invariant while calls continue. Accounts that are created after the last range was chosen are checked by the next audit. */
export function auditLedger(
  { directory, partitions }: AuditedDatabases,
  options: AuditOptions = {},
): Promise<InvariantResult[]> {
  // A process runs one audit at a time.
  return directory.audit(async () => {
    const opened: Closable[] = [];
    const opening = async <Reader extends Closable>(reading: Promise<Reader>): Promise<Reader> => {
      const reader = await reading;
      opened.push(reader);
      return reader;
    };
    try {
      const directoryReader = await opening(directory.openTables());
      const readers: PartitionReaders[] = [];
      for (const [number, partition] of partitions.entries()) {
        const count = partitions.length;
        const reader = await inPartition(number, count, () => opening(partition.openTables()));
        readers.push({
          number,
          directory: directoryReader,
          partition: { query: (...asked) => inPartition(number, count, () => reader.query(...asked)) },
        });
      }
      return await auditPartitions(readers, options);
    } finally {
      await Promise.all(opened.map((reader) => reader.close()));
    }
  });
}

interface PartitionReaders extends HomeQueryables {
  readonly number: number;
}

async function auditPartitions(
  readers: readonly PartitionReaders[],
  { signal, onProgress, pace = (work) => work(), accountsMax, entriesMax }: AuditOptions,
): Promise<InvariantResult[]> {
  const size = { accountsMax: accountsMax ?? RANGE_SIZE.accountsMax, entriesMax: entriesMax ?? RANGE_SIZE.entriesMax };
  const findings = new Findings(readers.length);
  const progress = { accounts: 0, accountsTotal: 0, entries: 0, calls: 0 };
  for (const { partition } of readers) {
    const [total] = await stoppable(partition, signal).query<{ n: number }>(countAccounts);
    progress.accountsTotal += total!.n;
  }
  onProgress?.({ ...progress });
  for (const tables of readers) {
    const homes = {
      directory: stoppable(tables.directory, signal),
      partition: stoppable(tables.partition, signal),
    };
    for await (const range of accountRanges(homes, tables.number, size)) {
      const { entries, calls } = await pace(() => auditRange(tables, range, findings, signal));
      progress.accounts += range.accounts;
      progress.entries += entries;
      progress.calls += calls;
      onProgress?.({ ...progress });
    }
  }
  return findings.results();
}

/** Returns the number of ledger entries and call records read. */
async function auditRange(
  tables: PartitionReaders,
  range: AccountRange,
  findings: Findings,
  signal: AbortSignal | undefined,
): Promise<{ readonly entries: number; readonly calls: number }> {
  const { number } = tables;
  const directory = stoppable(tables.directory, signal);
  const partition = stoppable(tables.partition, signal);
  const add = (breaches: readonly FoundBreach[]): void => findings.add({ partition: number, breaches });
  const bounds = [range.after, range.upTo];

  const accounts = await readAccounts(directory, range, number);
  const redemptions = await readRedemptions(directory, range, number);
  const { balances, vouchers, records } = await inSnapshot(tables.partition, async () => {
    for (const statement of OF_PARTITION) add(await partition.query<FoundBreach>(statement, bounds));
    const [counted] = await partition.query<{ entries: number; calls: number }>(countRecords, bounds);
    return {
      balances: await compareBalances(partition, range, accounts),
      vouchers: await compareGifts(partition, range, redemptions),
      records: counted!,
    };
  });
  add(balances.breaches);
  add(await findUnplaced(directory, balances.unknown, number));
  add(vouchers.breaches);
  add(await findWithoutRedemption(directory, vouchers.gifts));
  return records;
}

/** A reader whose queries reject once the signal is aborted. */
const stoppable = <Which extends Home>(
  reader: QueryableOf<Which>,
  signal: AbortSignal | undefined,
): QueryableOf<Which> => ({
  async query(statement, parameters) {
    signal?.throwIfAborted();
    return reader.query(statement, parameters);
  },
});
