import type {
  Database,
  DatabasePool,
  PoolName,
  Queryable,
  SnapshotQueryable,
  SnapshotReader,
  TableReader,
} from './database.ts';
import type { Home } from './homes.ts';

/**
 * The home of a table is the directory or the partitions (docs/decisions/0060-homes-of-tables.md). These types of connections state a home:
 * a store does not compile with a connection to the other home. A type that states no home, such as that of a test, is always accepted.
 */
declare const HOME: unique symbol;

interface OfHome<Which extends Home> {
  readonly [HOME]?: Which;
}

export type QueryableOf<Which extends Home> = Queryable & OfHome<Which>;

/** A transaction whose statements address tables of the directory or of a partition. */
export type TransactionOverBoth = Queryable;

/** Transaction of `transactionWithDirectory`: over both homes, but only if it is opened by a partition. */
type WithDirectory<Which extends Home> = Which extends 'partition' ? TransactionOverBoth : QueryableOf<Which>;

export interface PoolOf<Which extends Home> extends DatabasePool, OfHome<Which> {
  transaction<Result>(work: (transaction: QueryableOf<Which>) => Promise<Result>): Promise<Result>;
  transactionWithDirectory<Result>(work: (transaction: WithDirectory<Which>) => Promise<Result>): Promise<Result>;
}

interface DatabaseOf<Which extends Home> extends Database, OfHome<Which> {
  pool(name: PoolName): PoolOf<Which>;
  transaction<Result>(work: (transaction: QueryableOf<Which>) => Promise<Result>): Promise<Result>;
  transactionWithDirectory<Result>(work: (transaction: WithDirectory<Which>) => Promise<Result>): Promise<Result>;
  openTables(): Promise<TableReader & OfHome<Which>>;
  openSnapshots(): Promise<SnapshotReader & OfHome<Which>>;
}

/** Runs statements, inside or outside of a transaction. */
export type DirectoryQueryable = QueryableOf<'directory'>;
export type PartitionQueryable = QueryableOf<'partition'>;
export type DirectoryPool = PoolOf<'directory'>;
export type PartitionPool = PoolOf<'partition'>;
export type DirectorySnapshots = SnapshotQueryable & OfHome<'directory'>;
export type PartitionSnapshots = SnapshotQueryable & OfHome<'partition'>;
export type DirectoryDatabase = DatabaseOf<'directory'>;
export type PartitionDatabase = DatabaseOf<'partition'>;

interface OfBothHomes<OfDirectory, OfPartition> {
  readonly directory: OfDirectory;
  readonly partition: OfPartition;
}

interface Partitioned<OfDirectory, OfPartition> {
  readonly directory: OfDirectory;
  readonly partitions: readonly OfPartition[];
}

/**
 * Without further partitions, the directory and the first partition are the same object. Code must not rely on this: a transaction on one
 * home neither sees nor locks rows of the other.
 */
export type HomeDatabases = OfBothHomes<DirectoryDatabase, PartitionDatabase>;

export type PartitionedDatabases = Partitioned<DirectoryDatabase, PartitionDatabase>;

/** Statements for both homes. Table readers have this type too. In a transaction, the first partition shares the directory's connection. */
export type HomeQueryables = OfBothHomes<DirectoryQueryable, PartitionQueryable>;
