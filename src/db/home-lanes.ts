import type {
  Database,
  Lane,
  LaneName,
  Queryable,
  SnapshotQueryable,
  SnapshotReader,
  TableReader,
} from './database.ts';
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

/** A transaction of the directory and a partition: its statements may be of either. */
export type TransactionOverBoth = Queryable;

/** That of a lane of a partition; a lane of the directory knows no partition. */
type WithDirectory<Which extends Home> = Which extends 'partition' ? TransactionOverBoth : QueryableOf<Which>;

export interface LaneOf<Which extends Home> extends Lane, OfHome<Which> {
  transaction<Result>(work: (transaction: QueryableOf<Which>) => Promise<Result>): Promise<Result>;
  transactionWithDirectory<Result>(work: (transaction: WithDirectory<Which>) => Promise<Result>): Promise<Result>;
}

interface DatabaseOf<Which extends Home> extends Database, OfHome<Which> {
  lane(name: LaneName): LaneOf<Which>;
  transaction<Result>(work: (transaction: QueryableOf<Which>) => Promise<Result>): Promise<Result>;
  transactionWithDirectory<Result>(work: (transaction: WithDirectory<Which>) => Promise<Result>): Promise<Result>;
  openTables(): Promise<TableReader & OfHome<Which>>;
  openSnapshots(): Promise<SnapshotReader & OfHome<Which>>;
}

/** Also a transaction. */
export type DirectoryQueryable = QueryableOf<'directory'>;
export type PartitionQueryable = QueryableOf<'partition'>;
export type DirectoryLane = LaneOf<'directory'>;
export type PartitionLane = LaneOf<'partition'>;
export type DirectorySnapshots = SnapshotQueryable & OfHome<'directory'>;
export type PartitionSnapshots = SnapshotQueryable & OfHome<'partition'>;
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
 * The handles of both homes. They are one while all accounts are in the first partition, in the schema of the directory; nothing may rely on
 * that: a transaction of one sees and locks nothing of the other.
 */
export type HomeDatabases = OfBothHomes<DirectoryDatabase, PartitionDatabase>;

export type PartitionedDatabases = Partitioned<DirectoryDatabase, PartitionDatabase>;

/** Also readers of tables; of transactions the first partition has that of the directory. */
export type HomeQueryables = OfBothHomes<DirectoryQueryable, PartitionQueryable>;
export type PartitionedQueryables = Partitioned<DirectoryQueryable, PartitionQueryable>;
