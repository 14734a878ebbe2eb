import type { Database, Parameter, Queryable, StoredRow } from '../../src/db/database.ts';

/** What a new database has in it: the names of all tables, and the rows of those that are not empty, as JSON. */
export interface NewDatabase {
  /** Without those of months. */
  readonly tables: readonly string[];
  /** Tables of months. A gateway makes those of the day that its clock shows. */
  readonly months: readonly string[];
  readonly rows: ReadonlyMap<string, string>;
}

/** Statements that delete rows leave work to the database for each of them, so a full one is not worth it. */
const ROWS_MAX = 2_000;

/** Reads what a database that nobody has used yet has in it. */
export async function readNewDatabase(database: Database): Promise<NewDatabase> {
  const found = await database.query<{ name: string }>({
    name: 'test.tables-of-new',
    text: `select relname::text as name from pg_class
      where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
  });
  const tables = found.map(({ name }) => name);
  const months = await readMonths(database);
  const rows = new Map<string, string>();
  for (const [table, count] of await countRows(database, tables)) {
    if (count === 0) continue;
    const [read] = await database.query<{ rows: string }>({
      name: `test.rows-of-${table}`,
      text: `select json_agg(each)::text as rows from ${table} each`,
    });
    rows.set(table, read!.rows);
  }
  return { tables, months, rows };
}

/**
 * Makes a database as it was when it was new, in which only rows were changed and tables of months made. Returns
 * whether it is; if not, it had more rows than deleting them is worth.
 */
export function emptyDatabase(database: Database, { tables, months, rows }: NewDatabase): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const made = (await readMonths(transaction)).filter((month) => !months.includes(month));
    if (made.length > 0) {
      await transaction.query({ name: `test.drop-${made.join('-')}`, text: `drop table ${made.join(', ')}` });
    }
    const counts = await countRows(transaction, tables);
    if ([...counts.values()].reduce((sum, count) => sum + count, 0) > ROWS_MAX) return false;
    const run = (name: string, text: string, parameters: readonly Parameter[] = []): Promise<StoredRow[]> =>
      transaction.query({ name: `test.${name}`, text }, parameters);
    // Without triggers: some tables keep their rows, and some refer to others.
    await run('no-triggers', 'set local session_replication_role = replica');
    for (const [table, count] of counts) {
      if (count > 0) await run(`empty-${table}`, `delete from ${table}`);
      const first = rows.get(table);
      if (first === undefined) continue;
      await run(
        `fill-${table}`,
        `insert into ${table} select * from json_populate_recordset(null::${table}, $1::text::json)`,
        [first],
      );
    }
    return true;
  });
}

async function readMonths(database: Queryable): Promise<string[]> {
  const months = await database.query<{ name: string }>({
    name: 'test.months',
    text: "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'calls'::regclass order by 1",
  });
  return months.map(({ name }) => name);
}

async function countRows(database: Queryable, tables: readonly string[]): Promise<Map<string, number>> {
  const counts = tables.map((table) => `(select count(*) from ${table})`).join(', ');
  const [row] = await database.query<{ counts: readonly string[] }>({
    name: 'test.count-rows',
    text: `select array[${counts}]::text[] as counts`,
  });
  return new Map(tables.map((table, at) => [table, Number(row!.counts[at])]));
}
