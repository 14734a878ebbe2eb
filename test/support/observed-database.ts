import type {
  Database,
  DatabasePool,
  Parameter,
  Query,
  Queryable,
  SnapshotQueryable,
  Statement,
  TableReader,
} from '../../src/db/database.ts';

/**
 * Controls the statements of one name, or transactions of two messages, while they run. Statements inside other transactions fail and
 * wait with the whole transaction.
 */
export interface StatementControl {
  /** Number of submitted statements. */
  readonly asked: number;
  /** Number of statements that the database has executed. */
  readonly done: number;
  /** Resolves when that many have been submitted in all. */
  reached(count: number): Promise<void>;
  /** Resolves when that many have been executed in all. */
  completed(count: number): Promise<void>;
  /**
   * From now on they wait until `release`: before the database receives them, or after it has executed them. Statements that are aborted
   * during the wait fail.
   */
  hold(when?: 'before' | 'after'): void;
  release(): void;
  /**
   * From now on they fail like a lost connection, until `recover`: before the database receives them, or after it has executed them and
   * only the reply was lost.
   */
  fail(when: 'before' | 'after'): void;
  recover(): void;
}

export interface ObservedDatabase {
  /** The same database. Every statement of the gateway passes through it. */
  readonly database: Database;
  /** Controls all statements, whatever their name. */
  readonly every: StatementControl;
  /** Observes another partition, whose statements are observed together with those of this one, and separately. */
  also(real: Database): ObservedPartition;
  statement(name: string): StatementControl;
  /** Resolves when that many different calls of an account have been ended in the database. */
  callsEnded(accountId: string, count: number): Promise<void>;
}

export type ObservedPartition = Pick<ObservedDatabase, 'database' | 'statement' | 'every'>;

const READ_ENDS = 'settlement.read-ending-calls';

/** Between a gateway and its real database, so that tests can observe statements, delay them and break connections. */
export function observeDatabase(real: Database): ObservedDatabase {
  const statements = new Map<string, ObservedStatement>();
  const endedCalls = new Map<string, Set<string>>();
  const waiting = new Waiting();

  const statement = namedIn(statements);
  const every = new ObservedStatement();

  /** A read of these transactions contains their calls: an array of accounts, and an array of calls. */
  function noteEnded(reads: readonly Query[]): void {
    const read = reads.find(({ statement }) => statement.name === READ_ENDS);
    if (read === undefined) return;
    const [accounts, calls] = read.parameters;
    const callIds = arrayItems(calls);
    for (const [index, accountId] of arrayItems(accounts).entries()) {
      const ended = endedCalls.get(accountId) ?? new Set();
      endedCalls.set(accountId, ended.add(callIds[index]!));
    }
    waiting.check();
  }

  /** `run` executes a statement of that name. */
  const observed = (real: Database, run: RunNamed): Database => {
    /** Statements of all pools are known by their names alone. */
    const observeQueries = (transaction: Queryable): Queryable => ({
      query: (asked, parameters) => run(asked.name, () => transaction.query(asked, parameters)),
    });
    const observe = (target: DatabasePool): DatabasePool => ({
      query: <Row>(asked: Statement, parameters: readonly Parameter[] = [], signal?: AbortSignal) =>
        run(asked.name, () => target.query<Row>(asked, parameters, signal), signal),
      transaction: (work) => target.transaction((transaction) => work(observeQueries(transaction))),
      transactionWithDirectory: (work) =>
        target.transactionWithDirectory((transaction) => work(observeQueries(transaction))),
    });
    const observeTables = <Reader extends TableReader>(reader: Reader): Reader => ({
      ...reader,
      query: (asked: Statement, parameters?: readonly Parameter[]) =>
        run(asked.name, () => reader.query(asked, parameters)),
    });
    return {
      ...real,
      ...observe(real),
      pool: (name) => observe(real.pool(name)),
      async readThenWrite(transaction, signal) {
        // A batch that ends some calls and admits others counts as both.
        const runAll = transaction.name.split('+').reduce(
          (work, name) => () => run(name, work, signal),
          () => real.readThenWrite(transaction, signal),
        );
        const result = await runAll();
        noteEnded(transaction.reads);
        return result;
      },
      openTables: async () => observeTables(await real.openTables()),
      longTransaction: (work, signal) =>
        real.longTransaction((transaction) => work({ ...transaction, ...observeQueries(transaction) }), signal),
      async openSnapshots() {
        const reader = observeTables(await real.openSnapshots());
        const observeCursors = (target: SnapshotQueryable): typeof target => ({
          ...target,
          cursor<Row>(...[asked, parameters]: Parameters<typeof reader.cursor>) {
            const cursor = target.cursor<Row>(asked, parameters);
            return { fetch: (rowsMax) => run(asked.name, () => cursor.fetch(rowsMax)) };
          },
        });
        return { ...reader, ...observeCursors(reader), inSchema: (schema) => observeCursors(reader.inSchema(schema)) };
      },
    };
  };
  return {
    statement,
    database: observed(real, (name, work, signal) => statement(name).run(() => every.run(work, signal), signal)),
    every,
    also(real) {
      const own = namedIn(new Map());
      const everyOwn = new ObservedStatement();
      return {
        database: observed(real, (name, work, signal) =>
          statement(name).run(() => own(name).run(() => everyOwn.run(work, signal), signal), signal),
        ),
        statement: own,
        every: everyOwn,
      };
    },
    callsEnded: (accountId, count) => waiting.until(() => (endedCalls.get(accountId)?.size ?? 0) >= count),
  };
}

type RunNamed = <Result>(name: string, work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result>;

const namedIn =
  (statements: Map<string, ObservedStatement>) =>
  (name: string): ObservedStatement => {
    let observed = statements.get(name);
    if (observed === undefined) {
      observed = new ObservedStatement();
      statements.set(name, observed);
    }
    return observed;
  };

class ObservedStatement implements StatementControl {
  asked = 0;
  done = 0;
  readonly #waiting = new Waiting();
  #gate: PromiseWithResolvers<void> | null = null;
  #holdsWhen: 'before' | 'after' = 'before';
  #failsWhen: 'before' | 'after' | null = null;

  async run<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    this.asked++;
    this.#waiting.check();
    if (this.#holdsWhen === 'before') await this.#released(signal);
    if (this.#failsWhen === 'before') throw connectionLost();
    const result = await work();
    this.done++;
    this.#waiting.check();
    if (this.#holdsWhen === 'after') await this.#released(signal);
    if (this.#failsWhen === 'after') throw connectionLost();
    return result;
  }

  async #released(signal: AbortSignal | undefined): Promise<void> {
    if (this.#gate === null) return;
    const aborted = Promise.withResolvers<never>();
    signal?.addEventListener('abort', () => aborted.reject(signal.reason));
    await Promise.race([this.#gate.promise, aborted.promise]);
  }

  reached(count: number): Promise<void> {
    return this.#waiting.until(() => this.asked >= count);
  }

  completed(count: number): Promise<void> {
    return this.#waiting.until(() => this.done >= count);
  }

  hold(when: 'before' | 'after' = 'before'): void {
    this.#holdsWhen = when;
    this.#gate ??= Promise.withResolvers();
  }

  release(): void {
    this.#gate?.resolve();
    this.#gate = null;
  }

  fail(when: 'before' | 'after'): void {
    this.#failsWhen = when;
  }

  recover(): void {
    this.#failsWhen = null;
  }
}

/** Promises of conditions, checked after every event. */
class Waiting {
  #conditions: { isMet: () => boolean; resolve: () => void }[] = [];

  until(isMet: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#conditions.push({ isMet, resolve });
      this.check();
    });
  }

  check(): void {
    this.#conditions = this.#conditions.filter(({ isMet, resolve }) => {
      if (!isMet()) return true;
      resolve();
      return false;
    });
  }
}

function arrayItems(parameter: Parameter | undefined): string[] {
  return String(parameter).match(/[^{},"]+/g) ?? [];
}

/** The driver's error for a broken connection, without SQLSTATE. */
function connectionLost(): Error {
  return Object.assign(new Error('the connection was reset'), { code: 'ECONNRESET' });
}
