import type { Statement } from './database.ts';
import type { DirectoryQueryable } from './home-pools.ts';

const selectIdentity: Statement = { name: 'db.select-identity', text: 'select id from database_identity' };

/** Returns the id of the database. It never changes. A copy of the database has the same id. */
export async function readDatabaseIdentity(database: DirectoryQueryable): Promise<string> {
  const [row] = await database.query<{ id: string }>(selectIdentity);
  return row!.id;
}
