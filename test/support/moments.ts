import type { Database, DatabasePool, LongTransaction, Queryable } from '../../src/db/database.ts';
import { sql } from './sql.ts';

/** The connection of a transaction, as the server identifies it. */
export interface Backend {
  readonly pid: number;
  /** Local port of the connection. */
  readonly port: number;
}

/** Kills something that the transaction needs. `transaction` completes after that, unless it is committed. */
export type Kill = (backend: Backend, transaction: Queryable) => Promise<void>;

export const BEFORE_COMMIT = 'before the commit';

/** The moment after a commit whose confirmation was lost. */
export const COMMITTED = 'after the commit';

const FIND_BACKEND = 'select pg_backend_pid() as pid, inet_client_port() as port';

/**
 * The moments of transactions over the directory and partitions: before each statement, before the commit, and after it. A test kills
 * something at one of them. Other transactions are unaffected.
 */
export class Moments {
  /** By name, since the last `begin`. */
  passed: string[] = [];
  #killAt = -1;
  #kill: Kill | null = null;
  /** Whether the moment came, and only what was killed failed. */
  isReached = false;

  /** Starts over: kills at the moment with this number, or at none. */
  begin(killAt = -1, kill: Kill | null = null): void {
    this.passed = [];
    this.isReached = false;
    this.#killAt = killAt;
    this.#kill = kill;
  }

  /** The same database, whose transactions over both homes are observed. */
  watch(database: Database): Database {
    const watchPool = (pool: DatabasePool): DatabasePool => ({
      query: (...given) => pool.query(...given),
      transaction: (work) => pool.transaction(work),
      transactionWithDirectory: <Result>(work: (transaction: Queryable) => Promise<Result>) =>
        this.#run<Queryable, Result>(
          (begun) => pool.transactionWithDirectory(begun),
          (transaction, before) => work(this.#watchStatements(transaction, before)),
          (transaction) => transaction,
        ),
    });
    return { ...database, ...watchPool(database), pool: (name) => watchPool(database.pool(name)) };
  }

  /** The same for an import, which is one transaction over the directory and all partitions. */
  watchImports(directory: Database): Database {
    return {
      ...directory,
      longTransaction: <Result>(work: (transaction: LongTransaction) => Promise<Result>) =>
        this.#run<LongTransaction, Result>(
          (begun) => directory.longTransaction(begun),
          (transaction, before) =>
            work({
              ...this.#watchStatements(transaction, before),
              inSchema: (schema) => this.#watchStatements(transaction.inSchema(schema), before),
            }),
          (transaction) => transaction,
        ),
    };
  }

  #watchStatements(transaction: Queryable, before: (statement: string) => Promise<void>): Queryable {
    return {
      async query(statement, parameters) {
        await before(statement.name);
        return transaction.query(statement, parameters);
      },
    };
  }

  async #run<Transaction, Result>(
    begin: (work: (transaction: Transaction) => Promise<Result>) => Promise<Result>,
    work: (transaction: Transaction, before: (statement: string) => Promise<void>) => Promise<Result>,
    firstOf: (transaction: Transaction) => Queryable,
  ): Promise<Result> {
    let first: Queryable | null = null;
    let backend: Backend | null = null;
    const pass = (moment: string): Promise<boolean> => this.#pass(moment, (kill) => kill(backend!, first!));
    const result = await begin(async (transaction) => {
      first = firstOf(transaction);
      [backend = null] = await sql<Backend>(first, FIND_BACKEND);
      const done = await work(transaction, async (statement) => void (await pass(`before ${statement}`)));
      await pass(BEFORE_COMMIT);
      return done;
    });
    // Committed, but the caller does not learn it.
    if (await pass(COMMITTED)) throw new Error('the connection was lost');
    return result;
  }

  async #pass(moment: string, run: (kill: Kill) => Promise<void>): Promise<boolean> {
    const isKilled = this.passed.push(moment) - 1 === this.#killAt;
    if (!isKilled || this.#kill === null) return false;
    await run(this.#kill);
    this.isReached = true;
    return true;
  }
}
