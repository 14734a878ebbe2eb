import { tablesIn } from '../../scripts/sql-tables.ts';
import type {
  Database,
  DatabasePool,
  Parameter,
  Queryable,
  SnapshotQueryable,
  Statement,
  Subscription,
  TableReader,
} from '../../src/db/database.ts';
import { sqlState, toStatementError } from '../../src/db/errors.ts';
import { HOMES, type Table } from '../../src/db/homes.ts';
import { type KeptReaders, tablesOf } from './kept-readers.ts';

/**
 * An open database that tests use one after another. To each it looks like its own: after it closes the database, its statements fail,
 * and connection counts start at zero.
 */
export interface Loan {
  readonly database: Database;
  /** Whether the test has closed it. */
  readonly isClosed: boolean;
  /**
   * Ends the loan: nothing works from now on. Returns whether all changes were complete changes of rows, so that the database is as new
   * once its tables are empty.
   */
  end(): boolean;
}

/** Other statements may change tables or the session, and outlive the rows. */
const CHANGES_ROWS_ONLY = /^[\s(]*(?:select|insert|update|delete|merge|values|with|lock|begin|commit|rollback)\b/i;
/** Removed together with the rows. */
const MAKES_A_MONTH = /^\s*create table if not exists calls_\d{4}_\d{2} partition of calls\s/i;
/** Also begins that way, but changes more than rows. */
const REACHES_FURTHER =
  /\b(?:pg_(?:try_)?advisory_(?:lock|unlock)|pg_terminate|pg_cancel|set_config|setval|nextval|into\s+temp)/i;

/** Prepared statements on the connections of a database, by name; several texts if tests use a name for different ones. */
export type PreparedTexts = Map<string, string[]>;

/**
 * @param texts what has been prepared so far; it outlives this loan, and so do `readers`
 * @param staysOpen asked when the test closes the database: whether it remains open, unchanged, for another user
 */
export function lend(real: Database, texts: PreparedTexts, readers: KeptReaders, staysOpen: () => boolean): Loan {
  const tables = tablesOf(real, readers);
  const before = new Map(tables.figures().map((figures) => [figures.name, figures]));
  let isClosed = false;
  let isAltered = false;
  /** Errors thrown by a test's code in transactions. */
  const thrown = new Set<unknown>();
  let running = 0;
  let subscriptions = 0;
  const { promise: atRest, resolve: rest } = Promise.withResolvers<void>();

  async function run<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    if (isClosed) throw toStatementError('database.connect', new Error('the database is closed'));
    running++;
    try {
      return await work();
    } catch (error) {
      noteFailure(error);
      throw error;
    } finally {
      if (signal?.aborted) isAltered = true;
      running--;
      if (isClosed && running === 0) rest();
    }
  }

  /** The server may not have noticed the failure, and still be running the statement. */
  function noteFailure(error: unknown): void {
    if (sqlState(error) === undefined && !thrown.has(error)) isAltered = true;
  }

  const noted = (transaction: Queryable): Queryable => ({
    query: async (statement, parameters, signal) => {
      try {
        return await transaction.query(known(statement), parameters, signal);
      } catch (error) {
        noteFailure(error);
        throw error;
      }
    },
  });

  /** A test's code in a transaction. If it throws, the transaction is rolled back and rejects with the error. */
  const inside =
    <Result>(work: (transaction: Queryable) => Promise<Result>) =>
    async (transaction: Queryable): Promise<Result> => {
      try {
        return await work(noted(transaction));
      } catch (error) {
        thrown.add(error);
        throw error;
      }
    };

  function note(sql: string): void {
    const isOfRows = CHANGES_ROWS_ONLY.test(sql) && !REACHES_FURTHER.test(sql);
    if (!isOfRows && !MAKES_A_MONTH.test(sql)) isAltered = true;
  }

  /** The same statement, renamed if another test has prepared another text under this name. */
  function known(statement: Statement): Statement {
    const { name, text } = statement;
    note(text);
    const prepared = texts.get(name) ?? [];
    if (!prepared.includes(text)) {
      requireOneHome(statement);
      prepared.push(text);
    }
    texts.set(name, prepared);
    const at = prepared.indexOf(text);
    return at === 0 ? statement : { name: `${name} (${at})`, text };
  }

  const lendPool = (pool: DatabasePool): DatabasePool => ({
    query: <Row>(statement: Statement, parameters?: readonly Parameter[], signal?: AbortSignal) =>
      run(() => pool.query<Row>(known(statement), parameters, signal), signal),
    transaction: (work) => run(() => pool.transaction(inside(work))),
    transactionWithDirectory: (work) => run(() => pool.transactionWithDirectory(inside(work))),
  });

  async function lendReader<Reader extends TableReader>(open: () => Promise<Reader>): Promise<Reader> {
    const reader = await run(open);
    subscriptions++;
    return {
      ...reader,
      query: (statement: Statement, parameters?: readonly Parameter[]) =>
        run(() => reader.query(known(statement), parameters)),
      async close() {
        await reader.close();
        subscriptions--;
      },
    };
  }

  const lendInSchema = (reader: SnapshotQueryable): typeof reader => ({
    query: (statement, parameters) => run(() => reader.query(known(statement), parameters)),
    cursor<Row>(...asked: Parameters<typeof reader.cursor>) {
      const cursor = reader.cursor<Row>(...asked);
      return { fetch: (rowsMax) => run(() => cursor.fetch(rowsMax)) };
    },
  });

  const database: Database = {
    ...lendPool(real),
    pool: (name) => lendPool(real.pool(name)),
    readThenWrite: (transaction, signal) => {
      for (const { statement } of transaction.reads) known(statement);
      return run(() => real.readThenWrite(transaction, signal), signal);
    },
    openTables: () => lendReader(() => tables.openTables()),
    audit: (work) => run(() => tables.audit(work)),
    async openSnapshots() {
      const reader = await lendReader(() => real.openSnapshots());
      return {
        ...lendInSchema(reader),
        inSchema: (schema) => lendInSchema(reader.inSchema(schema)),
        close: () => reader.close(),
      };
    },
    longTransaction: (work, signal) =>
      run(
        () =>
          real.longTransaction(
            (transaction) =>
              inside((lent) => work({ ...lent, inSchema: (schema) => noted(transaction.inSchema(schema)) }))(
                transaction,
              ),
            signal,
          ),
        signal,
      ),
    script(sql, signal) {
      for (const statement of sql.split(';')) if (statement.trim() !== '') note(statement);
      return run(() => real.script(sql, signal), signal);
    },
    async subscribe(channel, onPayload, onReconnect) {
      const subscription = await run(() => real.subscribe(channel, onPayload, onReconnect));
      subscriptions++;
      return counted(subscription, () => subscriptions--);
    },
    figures: () =>
      tables.figures().map((now) => {
        const { begun, waitedMs, refused } = before.get(now.name) ?? { begun: 0, waitedMs: 0, refused: 0 };
        return {
          ...now,
          begun: now.begun - begun,
          waitedMs: now.waitedMs - waitedMs,
          refused: now.refused - refused,
        };
      }),
    close() {
      isClosed = true;
      if (!staysOpen()) return real.close();
      return running === 0 ? Promise.resolve() : atRest;
    },
  };

  return {
    database,
    get isClosed() {
      return isClosed;
    },
    end() {
      isClosed = true;
      return !isAltered && running === 0 && subscriptions === 0;
    },
  };
}

const TABLES: ReadonlySet<string> = new Set(Object.keys(HOMES));

/** Like `scripts/check-homes.ts`, for statements that are composed at run time. Statements of tests may use any table. */
function requireOneHome({ name, text }: Statement): void {
  if (name.startsWith('test.')) return;
  const tables = [...tablesIn(text, TABLES)] as Table[];
  if (new Set(tables.map((table) => HOMES[table])).size > 1) {
    throw new Error(`${name} names tables of both homes: ${tables.join(', ')}`);
  }
}

function counted(subscription: Subscription, onEnd: () => void): Subscription {
  let isOpen = true;
  return {
    get isConnected() {
      return subscription.isConnected;
    },
    async close() {
      await subscription.close();
      if (isOpen) onEnd();
      isOpen = false;
    },
  };
}
