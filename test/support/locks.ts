import type { Database, Queryable } from '../../src/db/database.ts';
import { behind } from './spread-database.ts';
import { sql } from './sql.ts';
import { until } from './until.ts';

/** Resolves when at least that many statements in this database wait for a lock. */
export async function locksAwaited(database: Queryable, count: number): Promise<void> {
  const waiting = `select from pg_stat_activity
where datname = current_database() and wait_event_type = 'Lock' and backend_type = 'client backend'`;
  await until(async () => (await sql(database, waiting)).length >= count);
}

/**
 * The same database, but its transactions wait for locks instead of skipping locked accounts: for tests of what transactions do once they
 * have the locks.
 */
export function waitingForLocks(database: Database): Database {
  return behind(database, (handle) => ({
    ...handle,
    readThenWrite: (transaction, signal) => handle.readThenWrite({ ...transaction, waitsForLocks: true }, signal),
  }));
}
