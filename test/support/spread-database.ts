import assert from 'node:assert/strict';
import { tablesIn } from '../../scripts/sql-tables.ts';
import type { GatewayOptions } from '../../src/app/gateway-options.ts';
import type { Database, DatabasePool, Parameter, Queryable, Statement, StoredRow } from '../../src/db/database.ts';
import { HOMES, type Table } from '../../src/db/homes.ts';

/** The handles of a database with several partitions. */
export interface SpreadHandles {
  readonly directory: Database;
  /** By number. The first one is the directory. */
  readonly partitions: readonly Database[];
}

const handles = new WeakMap<Database, SpreadHandles>();

/** The handles of a `spreadDatabase`. Any other database is both the directory and the only partition. */
export const handlesOf = (database: Database): SpreadHandles =>
  handles.get(database) ?? { directory: database, partitions: [database] };

/** The databases of a gateway whose number of partitions is final. */
export function servedOf(database: Database): GatewayOptions['databases'] {
  const { directory, partitions } = handlesOf(database);
  return {
    directory: { ...directory, close: () => database.close() },
    partitions,
    openNext: () => assert.fail('there are as many partitions as are wanted'),
    figures: () => database.figures(),
  };
}

/** The same database, with each of its handles wrapped. */
export function behind(database: Database, wrap: (handle: Database) => Database): Database {
  const [directory, ...further] = handlesOf(database).partitions.map(wrap) as [Database, ...Database[]];
  return further.length === 0 ? directory : spreadDatabase({ directory, partitions: [directory, ...further] });
}

const KNOWN: ReadonlySet<string> = new Set(Object.keys(HOMES));
const isOfPartitions = ({ text }: Statement): boolean =>
  [...tablesIn(text, KNOWN)].some((table) => HOMES[table as Table] === 'partition');

const ACCOUNT_ID = /\bacct_\w+/g;

/**
 * Several partitions as one database, for tests written for one. A statement about an account goes to its partition; one about all
 * accounts goes to every partition, and the rows are concatenated; single rows of counts and sums are added. Gateways do not use this.
 */
export function spreadDatabase(all: SpreadHandles): Database {
  const { directory, partitions } = all;
  /** Accounts never change their partition. */
  const placeOf = new Map<string, number>();

  async function places(names: readonly string[]): Promise<ReadonlySet<number>> {
    for (const id of names) {
      if (placeOf.has(id)) continue;
      const [found] = await directory.query<{ place: number }>(SELECT_PLACE, [id]);
      if (found !== undefined) placeOf.set(id, found.place);
    }
    return new Set(names.flatMap((id) => placeOf.get(id) ?? []));
  }

  async function asked<Row>(
    of: readonly Queryable[],
    statement: Statement,
    parameters: readonly Parameter[] = [],
    signal?: AbortSignal,
  ): Promise<Row[]> {
    if (!isOfPartitions(statement)) return of[0]!.query<Row>(statement, parameters, signal);
    const names = [...parameters, statement.text].flatMap((text) => String(text).match(ACCOUNT_ID) ?? []);
    const known = await places(names);
    const where = known.size === 0 ? of : [...known].map((place) => of[place]!);
    const rows: Row[][] = [];
    for (const each of where) rows.push(await each.query<Row>(statement, parameters, signal));
    return rows.length === 1 ? rows[0]! : together(rows);
  }

  const pool = (of: readonly DatabasePool[]): DatabasePool => {
    const transaction: DatabasePool['transaction'] = (work) =>
      inAll(of, [], (transactions) => work({ query: (...given) => asked(transactions, ...given) }));
    return {
      query: (statement, parameters, signal) => asked(of, statement, parameters, signal),
      transaction,
      transactionWithDirectory: transaction,
    };
  };

  const database: Database = {
    ...directory,
    ...pool(partitions),
    pool: (name) => pool(partitions.map((partition) => partition.pool(name))),
    async readThenWrite(transaction, signal) {
      const text = transaction.reads.map(({ parameters }) => parameters.join(' ')).join(' ');
      const [place = 0] = await places(text.match(ACCOUNT_ID) ?? []);
      return partitions[place]!.readThenWrite(transaction, signal);
    },
    async script(sql, signal) {
      const where = isOfPartitions({ name: 'test.script', text: sql }) ? partitions : [directory];
      for (const each of where) await each.script(sql, signal);
    },
    async close() {
      await Promise.all(partitions.map((partition) => partition.close()));
    },
  };
  handles.set(database, all);
  return database;
}

const SELECT_PLACE: Statement = {
  name: 'test.place-of-account',
  text: 'select partition_no as place from accounts where id = $1',
};

/** Transactions of all pools, one within the other. */
function inAll<Result>(
  [first, ...rest]: readonly DatabasePool[],
  open: readonly Queryable[],
  work: (transactions: readonly Queryable[]) => Promise<Result>,
): Promise<Result> {
  if (first === undefined) return work(open);
  return first.transaction((transaction) => inAll(rest, [...open, transaction], work));
}

function together<Row>(rows: readonly Row[][]): Row[] {
  const single = rows.every(({ length }) => length === 1) ? (rows.map(([row]) => row) as StoredRow[]) : null;
  const isCount = (value: unknown): boolean => value === null || typeof value === 'bigint' || typeof value === 'number';
  if (single === null || !single.every((row) => Object.values(row).every(isCount))) return rows.flat();
  const sums = Object.keys(single[0]!).map((name) => [name, sumOf(single.map((row) => row[name] as bigint | null))]);
  return [Object.fromEntries(sums) as Row];
}

/** Like SQL's `sum`: partitions without rows return `null`, which is ignored. */
function sumOf(values: readonly (bigint | null)[]): bigint | null {
  const counts = values.filter((value) => value !== null);
  return counts.length === 0 ? null : counts.reduce((sum, value) => sum + value);
}
