import { pathToFileURL } from 'node:url';
import { CliError } from '../command.ts';
import type { ForeignDatabase } from './foreign-books.ts';

interface OpenedForeignDatabase extends ForeignDatabase {
  close(): Promise<void>;
}

/**
 * Opens the database of another program for reading only, in one snapshot.
 *
 * @param source a SQLite file, or an address such as `postgres://…`
 * @throws CliError if it cannot be opened
 */
export async function openForeignDatabase(source: string): Promise<OpenedForeignDatabase> {
  const isAddress = /^postgres(ql)?:\/\//.test(source);
  try {
    return await (isAddress ? openPostgres(source) : openSqlite(source));
  } catch (error) {
    // An address is not shown: it may contain a password.
    const name = isAddress ? 'The database' : source;
    throw new CliError(`${name} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

async function openSqlite(path: string): Promise<OpenedForeignDatabase> {
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync(pathToFileURL(path), { readOnly: true });
  database.exec('begin');
  const select = (query: string, ...values: string[]) =>
    database.prepare(query).all(...values) as Record<string, string | null>[];
  // This first query fails if the file is no SQLite database.
  select('select name from sqlite_schema limit 1');
  return {
    columnsOf: async (table) =>
      new Set(select('select name from pragma_table_info(?)', table).map(({ name }) => name!)),
    select: async (query) => select(query),
    close: async () => database.close(),
  };
}

async function openPostgres(url: string): Promise<OpenedForeignDatabase> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('begin isolation level repeatable read read only');
  return {
    async columnsOf(table) {
      const { rows } = await client.query(
        'select column_name::text as name from information_schema.columns where table_schema = current_schema() and table_name = $1',
        [table],
      );
      return new Set(rows.map(({ name }) => name));
    },
    select: async (query) => (await client.query(query)).rows,
    close: () => client.end(),
  };
}
