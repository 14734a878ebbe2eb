import { inPartition } from '../accounting/partitions/partition-failures.ts';
import type { Statement } from '../db/database.ts';
import type {
  DirectorySnapshots,
  PartitionDatabase,
  PartitionedDatabases,
  PartitionSnapshots,
} from '../db/home-lanes.ts';

/**
 * The SQL with which an export begins, and of which states it reads the directory and the partitions
 * (docs/decisions/0065-books-of-several-partitions.md).
 */

/** The databases of the directory and of all partitions. */
export interface ExportedDatabases {
  readonly directory: Pick<PartitionedDatabases['directory'], 'lane' | 'openSnapshots'>;
  readonly partitions: readonly Pick<PartitionDatabase, 'lane' | 'openSnapshots'>[];
}

/** What an export reads. */
export interface ExportSnapshots {
  readonly directory: DirectorySnapshots;
  /** Vouchers and their redemptions: as of the directory, or behind the states of partitions, with all that was redeemed before these. */
  readonly redemptions: DirectorySnapshots;
  /** Redemptions that transactions from this one on have changed may be behind the states of partitions; `null`: none is. */
  readonly redemptionsCut: string | null;
  /** By number. Each is of the state of the directory or a later one, so each account that is whole has its balance there. */
  readonly partitions: readonly PartitionSnapshots[];
  close(): Promise<void>;
}

/** Keeps tables of records, which a snapshot that was taken before does not keep. The snapshot begins behind it. */
const keepRecords: Statement = { name: 'export.keep-records', text: 'lock table only calls in access share mode' };

/** The state of a partition begins with it. */
const beginState: Statement = { name: 'export.begin-state', text: 'select is_done from usage_backfill' };

/** The transactions from this one on are later than the state of the reader. */
const readTransaction: Statement = {
  name: 'export.read-cut',
  text: `select (pg_snapshot_xmax(pg_current_snapshot())::text::numeric % 4294967296)::text as cut`,
};

async function readCutTransaction(reader: DirectorySnapshots): Promise<string> {
  const [row] = await reader.query<{ cut: string }>(readTransaction);
  return row!.cut;
}

/** What no two servers have in common. */
const SERVER = 'pg_postmaster_start_time()::text as server';

const selectServer: Statement = { name: 'export.select-server', text: `select ${SERVER}` };

/** Answered where the tables of the partition are, of which this one always has a row. */
const selectServerOfPartition: Statement = {
  name: 'export.select-server-of-partition',
  text: `select ${SERVER} from usage_backfill`,
};

export async function openExportSnapshots(databases: ExportedDatabases): Promise<ExportSnapshots> {
  const opened: Pick<PartitionSnapshots, 'close'>[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((reader) => reader.close()));
  };
  const opening = async <Reader extends Pick<PartitionSnapshots, 'close'>>(
    reading: Promise<Reader>,
  ): Promise<Reader> => {
    const reader = await reading;
    opened.push(reader);
    return reader;
  };
  const { directory, partitions } = databases;
  const openDirectory = (): Promise<DirectorySnapshots> => opening(directory.openSnapshots());
  async function openPartitions(
    begin: (partition: PartitionSnapshots) => Promise<unknown>,
  ): Promise<PartitionSnapshots[]> {
    const readers: PartitionSnapshots[] = [];
    for (const [number, partition] of partitions.entries()) {
      const of = <Result>(work: () => Promise<Result>): Promise<Result> => inPartition(number, partitions.length, work);
      const reader = await of(() => opening(partition.openSnapshots()));
      await of(() => begin(reader));
      readers.push({
        query: <Row>(statement: Statement) => of(() => reader.query<Row>(statement)),
        cursor<Row>(statement: Statement) {
          const cursor = reader.cursor<Row>(statement);
          return { fetch: (rowsMax) => of(() => cursor.fetch(rowsMax)) };
        },
        nameState: () => of(() => reader.nameState()),
        useState: (state) => of(() => reader.useState(state)),
        close: () => reader.close(),
      });
    }
    return readers;
  }

  async function open(): Promise<Omit<ExportSnapshots, 'close'>> {
    if (await areOnOneServer(databases)) {
      const ofPartitions = await openPartitions((partition) => partition.query(keepRecords));
      const reader = await openDirectory();
      const [first, ...others] = ofPartitions;
      const state = await first!.nameState();
      for (const each of [...others, reader]) await each.useState(state);
      return {
        directory: reader,
        redemptions: reader,
        redemptionsCut: null,
        partitions: ofPartitions,
      };
    }
    const reader = await openDirectory();
    const redemptionsCut = await readCutTransaction(reader);
    const ofPartitions = await openPartitions(async (partition) => {
      await partition.query(keepRecords);
      await partition.query(beginState);
    });
    const redemptions = await openDirectory();
    // Its state begins here, and not when it is read first.
    await readCutTransaction(redemptions);
    return { directory: reader, redemptions, redemptionsCut, partitions: ofPartitions };
  }

  try {
    return { ...(await open()), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Whether all partitions are where the directory is, so that one state can be read of all of them. A schema of Citus may be on a worker. */
async function areOnOneServer({ directory, partitions }: ExportedDatabases): Promise<boolean> {
  // The first partition is in the schema of the directory.
  if (partitions.length === 1) return true;
  const [here] = await directory.lane('admin').query<{ server: string }>(selectServer);
  for (const [number, partition] of partitions.entries()) {
    const [there] = await inPartition(number, partitions.length, () =>
      partition.lane('admin').query<{ server: string }>(selectServerOfPartition),
    );
    if (there!.server !== here!.server) return false;
  }
  return true;
}
