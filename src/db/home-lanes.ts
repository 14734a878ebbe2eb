import type { Database, Lane, LaneName, OpenTableReader, Queryable, SnapshotReader, TableReader } from './database.ts';
import type { Home } from './homes.ts';

/**
 * Connections of which it is known whose statements they run (docs/decisions/0060-homes-of-tables.md). The types are those of
 * `database.ts` with a mark that exists for the compiler alone: a store that is given the connections of the other home does not
 * compile. What has no mark may be both, as the one database of a test.
 */
declare const HOME: unique symbol;

interface Of<Which extends Home> {
  readonly [HOME]?: Which;
}

export type QueryableOf<Which extends Home> = Queryable & Of<Which>;
export type TableReaderOf<Which extends Home> = TableReader & Of<Which>;

export interface LaneOf<Which extends Home> extends Lane, Of<Which> {
  transaction<Result>(work: (transaction: QueryableOf<Which>) => Promise<Result>): Promise<Result>;
}

interface DatabaseOf<Which extends Home> extends Database, Of<Which> {
  lane(name: LaneName): LaneOf<Which>;
  transaction<Result>(work: (transaction: QueryableOf<Which>) => Promise<Result>): Promise<Result>;
  readTables<Result>(work: (reader: TableReaderOf<Which>) => Promise<Result>): Promise<Result>;
  openTables(): Promise<OpenTableReader & Of<Which>>;
  openSnapshots(): Promise<SnapshotReader & Of<Which>>;
}

/** Also a transaction. */
export type DirectoryQueryable = QueryableOf<'directory'>;
export type PartitionQueryable = QueryableOf<'partition'>;
export type DirectoryLane = LaneOf<'directory'>;
export type PartitionLane = LaneOf<'partition'>;
export type DirectoryTables = TableReaderOf<'directory'>;
export type PartitionTables = TableReaderOf<'partition'>;
export type DirectorySnapshots = SnapshotReader & Of<'directory'>;
export type PartitionSnapshots = SnapshotReader & Of<'partition'>;
export type DirectoryDatabase = DatabaseOf<'directory'>;
export type PartitionDatabase = DatabaseOf<'partition'>;

/**
 * Where the statements of both homes run. Both are the same connections while all accounts are in the first partition, in the schema of the
 * directory; nothing may rely on that: a transaction of one sees and locks nothing of the other.
 */
export interface HomeLanes {
  readonly directory: DirectoryLane;
  readonly partition: PartitionLane;
}

/** The handles of both homes. Only who opens databases knows whether they are one. */
export interface HomeDatabases {
  readonly directory: DirectoryDatabase;
  readonly partition: PartitionDatabase;
}

/** The handles of the directory and of all partitions, by number. */
export interface PartitionedDatabases {
  readonly directory: DirectoryDatabase;
  readonly partitions: readonly PartitionDatabase[];
}

/** Transactions of the directory and of all partitions, by number. The first partition has that of the directory. */
export interface PartitionedTransactions {
  readonly directory: DirectoryQueryable;
  readonly partitions: readonly PartitionQueryable[];
}

/** What reads whole tables of both homes. */
export interface HomeTables {
  readonly directory: DirectoryTables;
  readonly partition: PartitionTables;
}

/** What reads whole tables of the directory and of all partitions, by number. */
export interface PartitionedTables {
  readonly directory: DirectoryTables;
  readonly partitions: readonly PartitionTables[];
}

/** Both homes in one database, whose only partition is the first one. */
export const inOneDatabase = <Both extends Lane | Pick<Database, 'readTables'>>(
  both: Both,
): { readonly directory: Both; readonly partition: Both; readonly partitions: readonly [Both] } => ({
  directory: both,
  partition: both,
  partitions: [both],
});
