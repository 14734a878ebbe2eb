/** The interface of the database: statements, transactions and readers. */
export type Parameter = string | number | bigint | boolean | Date | Buffer | null;

/** A named statement. The server prepares it once per connection, and the name appears in errors. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** The text on Citus (`citus.ts`), if it differs. Only for writes of a `ReadThenWrite`. */
  readonly onCitus?: string;
}

export type StoredRow = Readonly<Record<string, unknown>>;

export interface Queryable {
  /**
   * Runs a statement and returns its rows. `bigint` columns are `bigint`, `timestamptz` is `Date`, `jsonb` is parsed, `date` is text;
   * values of other types are as the driver returns them. Column descriptions convert the rows (`table.ts`); otherwise the caller states
   * their shape.
   *
   * `signal`: as for `Database.readThenWrite`; has no effect within a transaction.
   */
  query<Row = StoredRow>(statement: Statement, parameters?: readonly Parameter[], signal?: AbortSignal): Promise<Row[]>;
}

export interface Query {
  readonly statement: Statement;
  readonly parameters: readonly Parameter[];
}

export type ReadRows = readonly (readonly unknown[])[];

/** A transaction of two messages: its reads, and the writes that depend on them. */
export interface ReadThenWrite<Result> {
  /** The transaction's name in errors and tests. */
  readonly name: string;
  /** Whether the transaction may wait for locks, on one of two separate connections. Other transactions fail after 100 ms (`55P03`). */
  readonly waitsForLocks?: boolean;
  /** Statements that run in order after `begin`. */
  readonly reads: readonly Query[];
  /** Computes the writes from the rows of each read. Synchronous, because rows are locked meanwhile. An exception rolls back. */
  decide(rows: ReadRows): { readonly writes: readonly Query[]; readonly result: Result };
}

/** Runs statements on a separate connection. The statements can also begin and end transactions. */
export interface TableReader extends Queryable {
  close(): Promise<void>;
}

export interface Cursor<Row> {
  /** Returns the next rows. Fewer than `rowsMax` rows mean that none follow. */
  fetch(rowsMax: number): Promise<readonly Row[]>;
}

/** Runs statements in one snapshot. */
export interface SnapshotQueryable extends Queryable {
  /** Creates a cursor. Its statement starts with the first fetch. */
  cursor<Row = StoredRow>(statement: Statement, parameters?: readonly Parameter[]): Cursor<Row>;
}

/** Reads large parts of a database in one snapshot, without a time limit, while others write. */
export interface SnapshotReader extends SnapshotQueryable, TableReader {
  /** Addresses another schema of the database in the same transaction; `null`: the reader's own schema. Statements run one at a time. */
  inSchema(schema: string | null): SnapshotQueryable;
}

export interface LongTransaction extends Queryable {
  inSchema(schema: string | null): Queryable;
}

export interface Subscription {
  /** Whether notifications currently arrive. If they do not, caches that depend on them must not be used. */
  readonly isConnected: boolean;
  close(): Promise<void>;
}

/** A connection pool, or another source of connections. */
export interface DatabasePool extends Queryable {
  /** Runs statements in one transaction; an exception rolls it back. */
  transaction<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>;
  /**
   * A `transaction` whose statements can also address tables of the directory; each statement addresses tables of one home. Both homes
   * commit or neither does, also on Citus. For the directory and the first partition this equals `transaction`. Lock order: the account's
   * row in `balances`, then rows of the directory.
   *
   * @throws if the partition's schema does not exist or, on Citus, if the table for two-phase commits is missing.
   */
  transactionWithDirectory<Result>(work: (transaction: Queryable) => Promise<Result>): Promise<Result>;
}

/** Purposes of connection pools for statements that no call waits for (`pools.ts`). */
export type PoolName = 'balances' | 'admin' | 'probes' | 'housekeeping' | 'notices';

export interface ConnectionFigures {
  readonly name: string;
  /** Number of connections in use, and their maximum number. */
  readonly used: number;
  readonly connectionsMax: number;
  readonly waiting: number;
  /** Number of requests that got a connection, and their total waiting time. */
  readonly begun: number;
  readonly waitedMs: number;
  /** Number of requests refused because too many were waiting. */
  readonly refused: number;
}

/** A database. Its own `query` and `transaction` are for calls and for updating their counters; other statements use `pool`. */
export interface Database extends DatabasePool {
  /** Returns a separate connection pool with limits, for statements that no call waits for. */
  pool(name: PoolName): DatabasePool;
  /**
   * Runs a transaction whose writes depend on its reads. `begin` and the reads are one message; the writes and `commit` are another. If the
   * connection fails during the second message, the outcome is unknown.
   *
   * When `signal` aborts, the call fails at once with the signal's reason and the connection is destroyed, because it would otherwise stay
   * occupied while the database does not respond.
   */
  readThenWrite<Result>(transaction: ReadThenWrite<Result>, signal?: AbortSignal): Promise<Result>;
  /** Opens a read-only connection for an audit, whose statements read whole tables. */
  openTables(): Promise<TableReader>;
  /** Runs an audit; audits run one at a time. */
  audit<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Opens a reader for exports. It has no time limit, and the server keeps its snapshot until `close`. */
  openSnapshots(): Promise<SnapshotReader>;
  /**
   * A `transaction` without time limits, for imports and for the sums of a month. When `signal` aborts, it fails and its connection is
   * destroyed; the server rolls back.
   */
  longTransaction<Result>(
    work: (transaction: LongTransaction) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result>;
  /**
   * Runs a script, or a statement outside of a transaction, without time limits. When `signal` aborts, the wait ends, but the server may
   * still complete the script.
   */
  script(sql: string, signal?: AbortSignal): Promise<void>;
  /** Listens on a NOTIFY channel. `onReconnect` runs after a gap in which notifications may have been lost. */
  subscribe(channel: string, onPayload: (payload: string) => void, onReconnect: () => void): Promise<Subscription>;
  /** Returns figures of all connection pools, in a fixed order. */
  figures(): readonly ConnectionFigures[];
  close(): Promise<void>;
}

/**
 * Planner settings as command line options of a server. A frequent statement is planned once per connection, often while its tables are
 * still empty; that plan would scan whole tables and stay in use while they grow. With `enable_seqscan=off`, frequent statements use an
 * index. A table without a suitable index is scanned regardless. Without `jit=off`, the server would compile these statements, because it
 * greatly overestimates their cost.
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

/**
 * Planner setting of two-message transactions. Their statements find few rows by key, so a plan for the specific values would cost more
 * than it saves.
 */
export const GENERIC_PLANS = 'plan_cache_mode=force_generic_plan';

/**
 * Further planner settings of a `SnapshotReader`. They make each batch use an index; with stale statistics, it would otherwise sort all
 * remaining rows.
 */
export const SLICE_PLANS = [
  GENERIC_PLANS,
  'enable_bitmapscan=off',
  'enable_sort=off',
  // An incremental sort would sort all rows of the largest account for each batch.
  'enable_incremental_sort=off',
] as const;

/**
 * Matches texts that need no quotes in an array (and only plain quotes in JSON), such as ids, names and instants. The word `null` needs
 * quotes.
 */
export const PLAIN = /^(?!null$)[\w.:+@/-]+$/i;
const NEEDS_ESCAPE = /["\\]/;
/** Characters that JSON escapes differently from an array. */
const JSON_DIFFERS = /[\p{Cc}\p{Cs}]/u;

/** A column value in an array parameter. */
export type SqlValue = string | number | bigint | boolean | null;

/** Formats an array parameter. Hand-written because the driver's code shows in profiles. */
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
  // JSON.stringify is native and faster, where its escapes match.
  return JSON_DIFFERS.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : JSON.stringify(value);
}
