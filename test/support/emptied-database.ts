import type { Database, Parameter, Queryable, StoredRow } from '../../src/db/database.ts';

/** The contents of a new database: names of all tables, and the rows of tables that are not empty, as JSON. */
export interface NewDatabase {
  /** Tables except monthly ones. */
  readonly tables: readonly string[];
  /** Monthly tables. A gateway creates those of the current day of its clock. */
  readonly months: readonly string[];
  readonly rows: ReadonlyMap<string, string>;
}

/** Above this, recreating a database is cheaper, because each deleted row leaves cleanup work. */
const ROWS_MAX = 2_000;

/** Reads the contents of a database that is still unused. */
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
 * Restores a database to its new state, if only rows were changed and monthly tables created since. Returns false if there were too many
 * rows to delete.
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
    // Without triggers, because some tables refuse deletion and some reference others.
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
