import { tablesIn } from '../../scripts/sql-tables.ts';
import type { Database, DatabasePool, Query, Statement, TableReader } from '../../src/db/database.ts';
import { HOMES, type Home, type Table } from '../../src/db/homes.ts';

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
