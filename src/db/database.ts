/** PostgreSQL as the rest of the program uses it: statements, transactions and readers. */
export type Parameter = string | number | bigint | boolean | Date | Buffer | null;

/** A statement with a name: the server prepares it once a connection, and the name appears in errors. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** Of a write of a `ReadThenWrite`: what it is on Citus (`citus.ts`), if that is something else. */
  readonly onCitus?: string;
}

/** A row as the database returns it, by the names of its columns. */
export type StoredRow = Readonly<Record<string, unknown>>;

export interface Queryable {
  /**
   * Runs a statement and returns its rows. `bigint` columns are `bigint`, `timestamptz` is `Date`, `jsonb` is parsed, `date`
   * is text, and the rest is as the drivers have it. Descriptions of columns make rows of it (`table.ts`); the caller states the shape of anything else.
   *
   * `signal`: as that of `Database.readThenWrite`; within a transaction it has no effect.
   */
  query<Row = StoredRow>(statement: Statement, parameters?: readonly Parameter[], signal?: AbortSignal): Promise<Row[]>;
}

/** A statement with the values of its parameters. */
export interface Query {
  readonly statement: Statement;
  readonly parameters: readonly Parameter[];
}

/** The rows of each read of a transaction. */
export type ReadRows = readonly (readonly unknown[])[];

/** A transaction of two messages: what it reads, and what it writes because of that. */
export interface ReadThenWrite<Result> {
  /** Appears in errors and in tests. */
  readonly name: string;
  /**
   * Whether it may wait for locks. It does so on one of two connections for that; other transactions are given up after 100 ms
   * (`55P03`).
   */
  readonly waitsForLocks?: boolean;
  /** Run in order after `begin`. */
  readonly reads: readonly Query[];
  /**
   * Returns what is written, from the rows of each read. It is synchronous, because rows are locked meanwhile. Where it
   * throws, the transaction is rolled back.
   */
  decide(rows: ReadRows): { readonly writes: readonly Query[]; readonly result: Result };
}

/** Runs statements that read tables in slices. Each has the state of its moment. */
export interface TableReader extends Queryable {
  close(): Promise<void>;
}

/** Rows of a statement that are read a part at a time. */
export interface Cursor<Row> {
  /** The next rows, as many as these if there are so many. */
  fetch(rowsMax: number): Promise<readonly Row[]>;
}

/** Statements that see one state. */
export interface SnapshotQueryable extends Queryable {
  /** Begins to run the statement when rows are fetched first. */
  cursor<Row = StoredRow>(statement: Statement, parameters?: readonly Parameter[]): Cursor<Row>;
}

/** Reads large parts of a database for as long as it takes, while others write. All that it reads is of one state. */
export interface SnapshotReader extends SnapshotQueryable, TableReader {
  /** The same transaction in another schema of the database; `null`: its own schema. One statement runs at a time. */
  inSchema(schema: string | null): SnapshotQueryable;
}

/** A transaction without limits of time. */
export interface LongTransaction extends Queryable {
  /** As that of `SnapshotReader`. */
  inSchema(schema: string | null): Queryable;
}

export interface Subscription {
  /** Whether notifications arrive at the moment. While they do not, a cache that depends on them must not be used. */
  readonly isConnected: boolean;
  close(): Promise<void>;
}

/** Statements and transactions over connections of some kind. */
export interface Lane extends Queryable {
  /** Runs several statements in one transaction; throws roll back. */
  transaction<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>;
  /**
   * A `transaction` whose statements see the tables of the directory too, each statement those of one home. Both are committed or neither,
   * also on Citus. Of the directory and the first partition it is `transaction`. Locks are taken in one order: the row of the account in
   * `balances` first, then rows of the directory.
   *
   * @throws if the schema of the partition is not there, or on Citus what makes a commit one of two phases.
   */
  transactionWithDirectory<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>;
}

/** What statements are for that no call waits for (`lanes.ts`). */
export type LaneName = 'balances' | 'admin' | 'probes' | 'housekeeping' | 'notices';

/** What the connections for one purpose do: those of calls, or a lane. Counts are since the start of the process. */
export interface ConnectionFigures {
  readonly name: string;
  /** Connections at work now, and the most that there may be. */
  readonly used: number;
  readonly connectionsMax: number;
  /** Work that waits for one of them now. */
  readonly waiting: number;
  /** Work that has got one, and how long it all has waited for that. */
  readonly begun: number;
  readonly waitedMs: number;
  /** Work that was refused because too much was waiting. */
  readonly refused: number;
}

/** Its own `query` and `transaction` are for calls, and what keeps their counters. */
export interface Database extends Lane {
  /** Connections of their own, with limits, for what no call waits for. */
  lane(name: LaneName): Lane;
  /**
   * Runs a transaction whose writes follow from its reads: `begin` and the reads are one message, the writes and `commit`
   * another one. It is all or nothing; if the connection fails during the second message, it is not known which.
   *
   * When `signal` aborts, it fails with the signal's reason at once, and its connection is destroyed: a database that does
   * not respond would keep it.
   */
  readThenWrite<Result>(transaction: ReadThenWrite<Result>, signal?: AbortSignal): Promise<Result>;
  /**
   * Opens a reader for statements that together read whole tables, slice by slice, such as those of the audit. They are planned along an
   * index, as those of a `SnapshotReader`, and can change nothing.
   */
  openTables(): Promise<TableReader>;
  /** Runs an audit. One runs at a time. */
  audit<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Opens a reader for exports; it has no limit of time, and the server keeps what it has not read yet until `close`. */
  openSnapshots(): Promise<SnapshotReader>;
  /** A `transaction` without limits of time, for imports. */
  longTransaction<Result>(work: (transaction: LongTransaction) => Promise<Result>): Promise<Result>;
  /**
   * Runs a script of several statements without parameters, or a single one outside of a transaction, without limits of time. For
   * migrations and indexes. When `signal` aborts, the server is not waited for any longer; it may complete what it has begun.
   */
  script(sql: string, signal?: AbortSignal): Promise<void>;
  /** Listens on a channel of NOTIFY. `onReconnect` runs after a gap in which notifications may be lost. */
  subscribe(channel: string, onPayload: (payload: string) => void, onReconnect: () => void): Promise<Subscription>;
  /** What its connections do, in a fixed order. */
  figures(): readonly ConnectionFigures[];
  close(): Promise<void>;
}

/**
 * How statements are planned, as options of a server's command line. A hot statement is planned once a connection, often while
 * its tables are empty, and such a plan reads a table from end to end. It stays in use while the table grows. Every
 * hot statement finds its rows by an index; if there is none, tables are read whole all the same. The second setting
 * keeps a server from compiling those few statements, whose cost it estimates far too high.
 */
export const PLANNER_OPTIONS = ['-c', 'enable_seqscan=off', '-c', 'jit=off'] as const;

/** The text form of a parameter. */
export function toSqlText(parameter: Parameter): string | null {
  if (parameter === null) return null;
  if (typeof parameter === 'string') return parameter;
  if (typeof parameter === 'boolean') return parameter ? 't' : 'f';
  if (parameter instanceof Date) return parameter.toISOString();
  if (Buffer.isBuffer(parameter)) return `\\x${parameter.toString('hex')}`;
  return String(parameter);
}

/**
 * How the statements of transactions of two messages are planned: they find few rows by their keys, whatever the values are,
 * so planning them anew for each set of values costs more than it gains.
 */
export const GENERIC_PLANS = 'plan_cache_mode=force_generic_plan';

/**
 * How the statements of a `SnapshotReader` and of a `TableReader` are planned, in addition: along an index. Tables have grown since they were
 * analyzed, and a slice would sort all that is behind it each time.
 */
export const SLICE_PLANS = [
  GENERIC_PLANS,
  'enable_bitmapscan=off',
  'enable_sort=off',
  // It would sort all of the largest account for each of its slices.
  'enable_incremental_sort=off',
] as const;

/** What an array takes as it is, and JSON in quotes, but for the word that stands for `null`: ids, names, instants. */
export const PLAIN = /^(?!null$)[\w.:+@/-]+$/i;
const NEEDS_ESCAPE = /["\\]/;
/** What JSON writes in another way than an array does. */
const JSON_DIFFERS = /[\p{Cc}\p{Cs}]/u;

/** A value of a column in a parameter that is an array. */
export type SqlValue = string | number | bigint | boolean | null;

/** An array parameter as PostgreSQL writes it. Written by hand because the drivers' own code shows in a profile. */
export function toArray(values: readonly SqlValue[]): string {
  let text = '{';
  for (let i = 0; i < values.length; i++) text += i === 0 ? toArrayItem(values[i]!) : `,${toArrayItem(values[i]!)}`;
  return `${text}}`;
}

export function toArrayItem(value: SqlValue): string {
  if (value === null) return 'NULL';
  if (typeof value !== 'string') return String(value);
  if (PLAIN.test(value)) return value;
  if (!NEEDS_ESCAPE.test(value)) return `"${value}"`;
  // Of the two, the engine has the faster one built in.
  return JSON_DIFFERS.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : JSON.stringify(value);
}
