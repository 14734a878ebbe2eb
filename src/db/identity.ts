import type { Queryable, Statement } from './database.ts';

const selectIdentity: Statement = { name: 'db.select-identity', text: 'select id from database_identity' };

/** What tells this database from others, for as long as it lives; a copy of it has the same. */
export async function readDatabaseIdentity(database: Queryable): Promise<string> {
  const [row] = await database.query<{ id: string }>(selectIdentity);
  return row!.id;
}
