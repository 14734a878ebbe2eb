import { tablesIn } from '../../scripts/sql-tables.ts';
import type { Database, DatabasePool, Query, Statement, TableReader } from '../../src/db/database.ts';
import { HOMES, type Home, type Table } from '../../src/db/homes.ts';
import type { HomePools } from './in-one-database.ts';

/** Each schema has its own table of applied migrations. */
const IN_BOTH: Table = 'schema_migrations';

const KNOWN: ReadonlySet<string> = new Set(Object.keys(HOMES).filter((table) => table !== IN_BOTH));

/** @throws if a statement names a table of the other home. */
function requireHome(home: Home, { name, text }: Statement): void {
  for (const table of tablesOf(text))
    if (HOMES[table] !== home) throw new Error(`${name} names ${table} in the ${home}`);
}

/** Cached by text, because a gateway has only some hundred statements. */
const tablesByText = new Map<string, readonly Table[]>();

function tablesOf(text: string): readonly Table[] {
  let tables = tablesByText.get(text);
  if (tables === undefined) {
    tables = [...tablesIn(text, KNOWN)] as Table[];
    tablesByText.set(text, tables);
  }
  return tables;
}

/**
 * A database as the handle of one home: statements that name a table of the other home fail. Scripts, which change the schema, are not
 * checked.
 *
 * @param onStranger also notified, because a caller may ignore the failure
 */
export function handleOf(home: Home, real: Database, onStranger: (error: unknown) => void): Database {
  function require(statement: Statement): void {
    try {
      requireHome(home, statement);
    } catch (error) {
      onStranger(error);
      throw error;
    }
  }
  const requireAll = (queries: readonly Query[]): void => {
    for (const { statement } of queries) require(statement);
  };
  const pool = (target: DatabasePool): DatabasePool => ({
    async query(statement, parameters, signal) {
      require(statement);
      return target.query(statement, parameters, signal);
    },
    transactionWithDirectory: (work) =>
      home === 'partition'
        ? target.transactionWithDirectory(work)
        : Promise.reject(new Error('the directory knows no partition')),
    transaction: (work) =>
      target.transaction((transaction) =>
        work({
          async query(statement, parameters) {
            require(statement);
            return transaction.query(statement, parameters);
          },
        }),
      ),
  });
  const tables = <Reader extends TableReader>(reader: Reader): Reader => ({
    ...reader,
    async query<Row>(...asked: Parameters<TableReader['query']>) {
      require(asked[0]);
      return reader.query<Row>(...asked);
    },
  });
  return {
    ...real,
    ...pool(real),
    pool: (name) => pool(real.pool(name)),
    async readThenWrite(transaction, signal) {
      requireAll(transaction.reads);
      const decide: typeof transaction.decide = (rows) => {
        const decided = transaction.decide(rows);
        requireAll(decided.writes);
        return decided;
      };
      return real.readThenWrite({ ...transaction, decide }, signal);
    },
    openTables: async () => tables(await real.openTables()),
    async openSnapshots() {
      const reader = tables(await real.openSnapshots());
      return {
        ...reader,
        cursor(statement, parameters) {
          require(statement);
          return reader.cursor(statement, parameters);
        },
        inSchema(schema) {
          const partition = reader.inSchema(schema);
          return {
            async query(statement, parameters) {
              requireHome('partition', statement);
              return partition.query(statement, parameters);
            },
            cursor(statement, parameters) {
              requireHome('partition', statement);
              return partition.cursor(statement, parameters);
            },
          };
        },
      };
    },
    longTransaction: (work, signal) =>
      real.longTransaction(
        (transaction) =>
          work({
            ...transaction,
            async query(statement, parameters) {
              require(statement);
              return transaction.query(statement, parameters);
            },
          }),
        signal,
      ),
  };
}

/** The process has ended between two transactions. */
export class ProcessEndedError extends Error {}

/** The homes of a database as a process sees them that may end between two of its transactions. */
export interface MortalHomes extends HomePools {
  /** What was asked for so far: a transaction, or a statement without one, is one step. */
  readonly steps: number;
  /** Runs before a step, which waits for it. */
  beforeStep: (step: number, home: Home) => Promise<void>;
}

/**
 * The homes of a database. A statement that names tables of the other home fails, so each transaction is of one. After so many steps the
 * process has ended: it can do nothing any more, whatever it tries.
 */
export function mortalHomes(pool: DatabasePool, stepsMax = Number.POSITIVE_INFINITY): MortalHomes {
  let steps = 0;
  const of = (home: Home): DatabasePool => {
    const step = async (): Promise<void> => {
      if (steps >= stepsMax) throw new ProcessEndedError(`the process has ended after step ${steps}`);
      steps++;
      await homes.beforeStep(steps, home);
    };
    return {
      async query(statement, parameters, signal) {
        requireHome(home, statement);
        await step();
        return pool.query(statement, parameters, signal);
      },
      async transactionWithDirectory(work) {
        await step();
        return pool.transactionWithDirectory(work);
      },
      async transaction(work) {
        await step();
        return pool.transaction((transaction) =>
          work({
            query: (statement, parameters) => {
              requireHome(home, statement);
              return transaction.query(statement, parameters);
            },
          }),
        );
      },
    };
  };
  const homes: MortalHomes = {
    directory: of('directory'),
    partition: of('partition'),
    get steps() {
      return steps;
    },
    beforeStep: async () => undefined,
  };
  return homes;
}
