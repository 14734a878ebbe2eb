export type Parameter = string | number | bigint | boolean | Date | Buffer | null;

/** An SQL statement, which each connection prepares once. Errors contain its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** Text for Citus (`citus.ts`); absent: the same as `text`. Only for writes of a `ReadThenWrite`. */
  readonly onCitus?: string;
}

export type StoredRow = Readonly<Record<string, unknown>>;

export interface Queryable {
  /**
   * Runs a statement and returns its rows. `bigint` columns are `bigint`, `timestamptz` is `Date`, `jsonb` is parsed, `date` is text.
   * `table.ts` describes and converts rows. `signal`: as for `Database.readThenWrite`; has no effect within a transaction.
   */
  query<Row = StoredRow>(statement: Statement, parameters?: readonly Parameter[], signal?: AbortSignal): Promise<Row[]>;
}

export interface Query {
  readonly statement: Statement;
  readonly parameters: readonly Parameter[];
}

export type ReadRows = readonly (readonly unknown[])[];

/** A transaction of two messages: the first one reads, and the second one writes what depends on the rows. */
export interface ReadThenWrite<Result> {
  readonly name: string;
  /** Whether the transaction may wait for locks, on one of two separate connections. All other transactions fail after 100 ms (`55P03`). */
  readonly waitsForLocks?: boolean;
  /** Statements that run in order after `begin`. */
  readonly reads: readonly Query[];
  /** Computes the writes from the rows of each read. Synchronous, because rows are locked. An exception rolls the transaction back. */
  decide(rows: ReadRows): { readonly writes: readonly Query[]; readonly result: Result };
}

/** Runs statements on a separate connection. They can also begin and end transactions. */
export interface TableReader extends Queryable {
  close(): Promise<void>;
}

export interface Cursor<Row> {
  /** Returns the next rows; fewer than `rowsMax` at the end. */
  fetch(rowsMax: number): Promise<readonly Row[]>;
}

export interface SnapshotQueryable extends Queryable {
  /** Creates a cursor. The statement runs at the first fetch. */
  cursor<Row = StoredRow>(statement: Statement, parameters?: readonly Parameter[]): Cursor<Row>;
}

/** Reads large parts of a database in one snapshot, without a time limit. */
export interface SnapshotReader extends SnapshotQueryable, TableReader {
  /** Selects another schema for statements in the same transaction; `null`: the reader's own schema. Statements run one at a time. */
  inSchema(schema: string | null): SnapshotQueryable;
}

export interface LongTransaction extends Queryable {
  inSchema(schema: string | null): Queryable;
}

export interface Subscription {
  /** Whether notifications arrive. If not, caches that depend on them must not be used. */
  readonly isConnected: boolean;
  close(): Promise<void>;
}

export interface DatabasePool extends Queryable {
  /** Runs work in a transaction. If the work throws, the transaction is rolled back. */
  transaction<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>;
  /**
   * A transaction over the directory and a partition; each statement addresses tables of one of them. All of it commits or nothing, also on
   * Citus. Lock order: the account's row in `balances`, then rows of the directory.
   *
   * @throws if the partition's schema, or the table for two-phase commits on Citus, does not exist
   */
  transactionWithDirectory<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>;
}

/** Connection pools for statements that no call waits for (`pools.ts`). */
export type PoolName = 'balances' | 'admin' | 'probes' | 'housekeeping' | 'notices';

export interface ConnectionFigures {
  readonly name: string;
  readonly used: number;
  readonly connectionsMax: number;
  readonly waiting: number;
  /** Number of requests that got a connection. The next member is their total waiting time. */
  readonly begun: number;
  readonly waitedMs: number;
  /** Requests that were refused because too many were waiting. */
  readonly refused: number;
}

/** A database. Its own `query` and `transaction` are for calls and their counters. Other statements use `pool`. */
export interface Database extends DatabasePool {
  /** Returns a pool for statements that no call waits for. It limits their number and time. */
  pool(name: PoolName): DatabasePool;
  /**
   * Sends `begin` and the reads as one message, then the writes and `commit` as another. If the connection fails during the second one, the
   * outcome is unknown. When `signal` aborts, this fails with the signal's reason and destroys the connection, which would otherwise stay
   * occupied while the database does not respond.
   */
  readThenWrite<Result>(transaction: ReadThenWrite<Result>, signal?: AbortSignal): Promise<Result>;
  /** A read-only connection for an audit, whose statements read whole tables. */
  openTables(): Promise<TableReader>;
  /** Runs audits one at a time. */
  audit<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Opens a snapshot for an export. It has no time limit; the server keeps the snapshot until `close`. */
  openSnapshots(): Promise<SnapshotReader>;
  /** Runs a transaction without time limits, for imports and the sums of a month. When `signal` aborts, it is rolled back. */
  longTransaction<Result>(
    work: (transaction: LongTransaction) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result>;
  /** Runs a script, or a statement outside of a transaction, without time limits. `signal` ends the wait, but not always the script. */
  script(sql: string, signal?: AbortSignal): Promise<void>;
  /** Listens on a NOTIFY channel. `onReconnect` runs after a time in which notifications may have been lost. */
  subscribe(channel: string, onPayload: (payload: string) => void, onReconnect: () => void): Promise<Subscription>;
  /** Returns figures of all connection pools, in a fixed order. */
  figures(): readonly ConnectionFigures[];
  close(): Promise<void>;
}

/**
 * Settings of the query planner. Each connection plans a frequent statement once, often while its tables are empty; that plan would still
 * scan whole tables after they have grown. `enable_seqscan=off` makes it use an index if there is one. With `jit=on`, the server would
 * compile these statements, because it overestimates their cost.
 */
export const PLANNER_OPTIONS = ['-c', 'enable_seqscan=off', '-c', 'jit=off'] as const;

export function toSqlText(parameter: Parameter): string | null {
  if (parameter === null) return null;
  if (typeof parameter === 'string') return parameter;
  if (typeof parameter === 'boolean') return parameter ? 't' : 'f';
  if (parameter instanceof Date) return parameter.toISOString();
  if (Buffer.isBuffer(parameter)) return `\\x${parameter.toString('hex')}`;
  return String(parameter);
}

/** Planner setting for `Database.readThenWrite`. Its statements find a few rows by key; planning for specific values costs too much. */
export const GENERIC_PLANS = 'plan_cache_mode=force_generic_plan';

/** Planner settings for a `SnapshotReader`. With outdated statistics, each batch would sort all remaining rows and use no index. */
export const SLICE_PLANS = [
  GENERIC_PLANS,
  'enable_bitmapscan=off',
  'enable_sort=off',
  // An incremental sort would sort all rows of the largest account for each batch.
  'enable_incremental_sort=off',
] as const;

/** Texts that need no quotes in an array and only plain quotes in JSON, such as ids and instants. The word `null` needs quotes. */
export const PLAIN = /^(?!null$)[\w.:+@/-]+$/i;
const NEEDS_ESCAPE = /["\\]/;
/** Characters that JSON escapes differently from an array. */
const JSON_DIFFERS = /[\p{Cc}\p{Cs}]/u;

export type SqlValue = string | number | bigint | boolean | null;

/** Formats an array parameter, faster than the driver does. */
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
  // `JSON.stringify` is native and so faster, but it escapes some characters differently.
  return JSON_DIFFERS.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : JSON.stringify(value);
}
