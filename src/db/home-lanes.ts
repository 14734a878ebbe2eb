import type { Database, Lane, LaneName, OpenTableReader, Queryable, SnapshotReader, TableReader } from './database.ts';
import type { Home } from './homes.ts';

/**
 * Connections of which it is known whose statements they run (docs/decisions/0060-homes-of-tables.md). The types are those of
 * `database.ts` with a mark that exists for the compiler alone: a store that is given the connections of the other home does not
 * compile. What has no mark may be both, as the one database of a test.
 */
declare const HOME: unique symbol;

interface OfHome<Which extends Home> {
  readonly [HOME]?: Which;
}

export type QueryableOf<Which extends Home> = Queryable & OfHome<Which>;
export type TableReaderOf<Which extends Home> = TableReader & OfHome<Which>;

export interface LaneOf<Which extends Home> extends Lane, OfHome<Which> {
  transaction<Result>(work: (transaction: QueryableOf<Which>) => Promise<Result>): Promise<Result>;
}

interface DatabaseOf<Which extends Home> extends Database, OfHome<Which> {
  lane(name: LaneName): LaneOf<Which>;
  transaction<Result>(work: (transaction: QueryableOf<Which>) => Promise<Result>): Promise<Result>;
  openTables(): Promise<OpenTableReader & OfHome<Which>>;
  openSnapshots(): Promise<SnapshotReader & OfHome<Which>>;
}

/** Also a transaction. */
export type DirectoryQueryable = QueryableOf<'directory'>;
export type PartitionQueryable = QueryableOf<'partition'>;
export type DirectoryLane = LaneOf<'directory'>;
export type PartitionLane = LaneOf<'partition'>;
export type DirectoryTables = TableReaderOf<'directory'>;
export type PartitionTables = TableReaderOf<'partition'>;
export type DirectorySnapshots = SnapshotReader & OfHome<'directory'>;
export type PartitionSnapshots = SnapshotReader & OfHome<'partition'>;
export type DirectoryDatabase = DatabaseOf<'directory'>;
export type PartitionDatabase = DatabaseOf<'partition'>;

/** Something of each home. */
interface OfBothHomes<OfDirectory, OfPartition> {
  readonly directory: OfDirectory;
  readonly partition: OfPartition;
}

/** Something of the directory and of all partitions, by number. */
interface Partitioned<OfDirectory, OfPartition> {
  readonly directory: OfDirectory;
  readonly partitions: readonly OfPartition[];
}

/**
 * Where the statements of both homes run. Both are the same connections while all accounts are in the first partition, in the schema of the
 * directory; nothing may rely on that: a transaction of one sees and locks nothing of the other.
 */
export type HomeLanes = OfBothHomes<DirectoryLane, PartitionLane>;

/** The handles of both homes. Only who opens databases knows whether they are one. */
export type HomeDatabases = OfBothHomes<DirectoryDatabase, PartitionDatabase>;

export type PartitionedDatabases = Partitioned<DirectoryDatabase, PartitionDatabase>;

/** The first partition has the transaction of the directory. */
export type PartitionedTransactions = Partitioned<DirectoryQueryable, PartitionQueryable>;

/** What reads whole tables. */
export type HomeTables = OfBothHomes<DirectoryTables, PartitionTables>;
export type PartitionedTables = Partitioned<DirectoryTables, PartitionTables>;

/** Both homes in one database, whose only partition is the first one. */
export const inOneDatabase = <Both extends Lane | Pick<Database, 'openTables'>>(
  both: Both,
): { readonly directory: Both; readonly partition: Both; readonly partitions: readonly [Both] } => ({
  directory: both,
  partition: both,
  partitions: [both],
});
