import pg from 'pg';
import type { Logger } from '../lib/logger.ts';
import { COMMIT_IN_TWO_PHASES, limitLocksOnWorker } from './citus.ts';
import { type ConnectionShare, shareOfDirectory } from './connection-shares.ts';
import {
  type Database,
  type DatabasePool,
  GENERIC_PLANS,
  PLANNER_OPTIONS,
  type Query,
  type Queryable,
  type TableReader,
} from './database.ts';
import { BATCH_LOCK_MAX_MS } from './errors.ts';
import { listen, type NotificationTiming } from './notifications.ts';
import {
  AUDIT_STATEMENT_MAX_MS,
  AUDITS_WAITING_MAX,
  createPoolQueues,
  createPools,
  POOLS,
  STATEMENT_CONNECTIONS_MAX,
  Turns,
} from './pools.ts';
import { Connection, ConnectionPool } from './postgres-connections.ts';
import { longTransaction, openReader, openSnapshots } from './postgres-long-work.ts';
import { TYPES } from './postgres-message.ts';
import { type OptionedConfig, splitOptions, withOptions } from './postgres-options.ts';

interface PostgresOptions {
  readonly url: string;
  readonly logger: Logger;
  /** The only schema that statements use; absent: the default schema of the server. */
  readonly schema?: string | undefined;
  /** The schema that `transactionWithDirectory` also addresses; absent: this database's own schema. */
  readonly directorySchema?: string | undefined;
  readonly isOnCitus?: boolean | undefined;
  /** Maximum numbers of connections; absent: those of a process with one partition. */
  readonly share?: ConnectionShare | undefined;
  /** Time limit for statements. It limits the delay of calls if the database does not respond. */
  readonly statementTimeoutMs?: number;
  readonly auditStatementMaxMs?: number;
  readonly notifications?: Partial<NotificationTiming>;
}

/**
 * Maximum idle time between the two messages of a transaction; a live node sends the second one at once. After this time, the server ends
 * the session of a dead node, long before statements time out that wait for its row locks.
 */
const BETWEEN_MESSAGES_MAX_MS = 2_000;

/** Maximum idle time between two statements of an audit, which sends the next one at once. */
const BETWEEN_AUDIT_STATEMENTS_MAX_MS = 60_000;

/** Equal to the time that calls wait for the database. */
const WAITING_LOCK_MAX_MS = 2_000;

/** Server settings for audits: read-only, a few megabytes of memory for sorts and hash joins, no parallel workers. */
const AUDIT_OPTIONS = [
  ...PLANNER_OPTIONS,
  ...[GENERIC_PLANS, 'work_mem=32MB', 'max_parallel_workers_per_gather=0', 'default_transaction_read_only=on'].flatMap(
    (setting) => ['-c', setting],
  ),
];

/** Describes a server by host, port and database, from the URL and the driver's environment variables. */
export function describePostgres(url: string): string {
  const { database = '', host, port } = new pg.Client({ connectionString: url });
  return `PostgreSQL, ${database} at ${host.startsWith('/') ? host : `${host}:${port}`}`;
}

/** Opens a database on PostgreSQL 15 or later. Its pools open connections when they are needed. */
export function openPostgres(options: PostgresOptions): Database {
  const { connectionString, given } = splitOptions(options.url);
  const connection: OptionedConfig = {
    connectionString,
    types: TYPES,
    application_name: 'faregate',
    keepAlive: true,
    // If an option occurs twice, the last one applies.
    options: [...given, ...(options.schema === undefined ? [] : ['-c', `search_path=${options.schema}`])].join(' '),
  };
  const settings = withOptions(connection, PLANNER_OPTIONS);
  const readers = new Set<pg.Client>();
  const timeoutMs = options.statementTimeoutMs ?? 10_000;
  const share = options.share ?? shareOfDirectory(1, STATEMENT_CONNECTIONS_MAX);
  const limits = { statement_timeout: timeoutMs, query_timeout: timeoutMs + 1_000 };
  const pools: ConnectionPool[] = [];
  // After a response that was not in time, idle connections may be lost too.
  const destroyIdle = (): void => {
    for (const each of pools) each.destroyIdle();
  };
  const openPool = (
    name: string,
    config: pg.PoolConfig & { readonly max: number },
    onGivenUp: (() => void) | undefined = destroyIdle,
  ): ConnectionPool => {
    const opened = new ConnectionPool(name, config, options.logger, onGivenUp);
    pools.push(opened);
    return opened;
  };
  const statementPool = openPool('statements', {
    ...settings,
    ...limits,
    max: share.statements,
    // A node that loses its network during a transaction keeps row locks that other nodes wait for.
    idle_in_transaction_session_timeout: timeoutMs,
  });
  // Options for transactions of two messages.
  const hot = {
    // Citus has no generic plan for an insert that reads rows from parameters.
    ...withOptions(connection, [...PLANNER_OPTIONS, ...(options.isOnCitus ? [] : ['-c', GENERIC_PLANS])]),
    ...limits,
    idle_in_transaction_session_timeout: BETWEEN_MESSAGES_MAX_MS,
  };
  const hotPool = openPool('batches', { ...hot, max: share.batches, lock_timeout: BATCH_LOCK_MAX_MS });
  // Aborted work in this pool may only have waited for a lock, so idle connections stay open.
  const waitingPool = openPool(
    'locks',
    { ...hot, max: share.locks, lock_timeout: WAITING_LOCK_MAX_MS },
    () => undefined,
  );
  const firstOf = (lockMaxMs: number): readonly Query[] => (options.isOnCitus ? [limitLocksOnWorker(lockMaxMs)] : []);
  const [firstOfBatch, firstOfWaiting] = [firstOf(BATCH_LOCK_MAX_MS), firstOf(WAITING_LOCK_MAX_MS)];
  const turns = createPoolQueues(share.pool);
  const pool = createPools(turns, (name) => {
    const { statementMaxMs, lockMaxMs } = POOLS[name];
    const serverPool = openPool(name, {
      ...settings,
      max: share.pool(name),
      statement_timeout: statementMaxMs,
      lock_timeout: lockMaxMs,
      idle_in_transaction_session_timeout: statementMaxMs,
      // A limit on the client side, for a server that does not respond. The server's own limit is shorter.
      query_timeout: statementMaxMs + 1_000,
    });
    return poolOf(serverPool, firstOf(lockMaxMs));
  });
  const auditStatementMaxMs = options.auditStatementMaxMs ?? AUDIT_STATEMENT_MAX_MS;
  const audits = new Turns('audits', 1, AUDITS_WAITING_MAX);

  const { directorySchema } = options;
  const beginWithDirectory = directorySchema === undefined ? 'begin' : beginOverBoth(options, directorySchema);

  function poolOf(from: ConnectionPool, first: readonly Query[]): DatabasePool {
    const transaction = <Result>(begin: string, work: (transaction: Queryable) => Promise<Result>): Promise<Result> =>
      from.use(async (connection) => {
        try {
          await connection.ask('database.begin', begin);
          for (const { statement, parameters } of first) await connection.run(statement, parameters);
          const result = await work({ query: (statement, parameters) => connection.run(statement, parameters) });
          await connection.ask('database.commit', 'commit');
          return result;
        } catch (error) {
          await connection.rollBack();
          throw error;
        }
      });
    return {
      query: (statement, parameters, signal) => from.use((connection) => connection.run(statement, parameters), signal),
      transaction: (work) => transaction('begin', work),
      transactionWithDirectory: (work) => transaction(beginWithDirectory, work),
    };
  }

  async function openTables(): Promise<TableReader> {
    const tables = {
      ...withOptions(connection, AUDIT_OPTIONS),
      statement_timeout: auditStatementMaxMs,
      // Without this, a node that loses its network during a snapshot would keep the server from vacuuming.
      idle_in_transaction_session_timeout: BETWEEN_AUDIT_STATEMENTS_MAX_MS,
      // A limit on the client side, for a server that does not respond, because later audits wait for this one.
      query_timeout: auditStatementMaxMs + 1_000,
    };
    const { reader, close } = await openReader(tables, readers, (opened) => opened.open());
    return { query: (statement, parameters) => reader.run(statement, parameters), close };
  }

  return {
    ...poolOf(statementPool, []),
    pool,
    readThenWrite(transaction, signal) {
      const [from, first] = transaction.waitsForLocks ? [waitingPool, firstOfWaiting] : [hotPool, firstOfBatch];
      return from.use((connection) => connection.readThenWrite(first, transaction), signal);
    },
    openTables,
    audit: (work) => audits.run(work),
    openSnapshots: () => openSnapshots(connection, readers),
    longTransaction: (work, signal) => longTransaction(connection, work, signal),
    async script(sql, signal) {
      const client = new Connection(settings);
      await client.open();
      signal?.addEventListener('abort', client);
      try {
        await client.ask('database.script', sql);
      } finally {
        signal?.removeEventListener('abort', client);
        await client.end();
      }
    },
    subscribe: (channel, onPayload, onReconnect) =>
      listen({ connection, logger: options.logger, channel, onPayload, onReconnect, timing: options.notifications }),
    figures: () => [statementPool, hotPool, waitingPool, ...turns.values(), audits].map(({ figures }) => figures),
    async close() {
      for (const reader of readers) void reader.end();
      await Promise.all(pools.map((each) => each.end()));
    },
  };
}

/**
 * Begins a transaction with the partition's schema, then the directory's, in the search path. Fails if the partition does not exist:
 * otherwise its statements would use the first partition, in the directory's schema.
 */
function beginOverBoth({ schema, isOnCitus }: PostgresOptions, directorySchema: string): string {
  const begin = `begin; select 'balances'::regclass; set local search_path = ${schema}, ${pg.escapeIdentifier(directorySchema)}`;
  return isOnCitus ? `${begin}; ${COMMIT_IN_TWO_PHASES}` : begin;
}
