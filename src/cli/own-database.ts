import type { Database } from '../db/database.ts';
import { requireCurrentSchema } from '../db/migrate.ts';
import { type DatabaseLocation, openDatabase } from '../db/open.ts';
import type { Logger } from '../lib/logger.ts';

/**
 * Opens the database for as long as the process lives, and makes an embedded one where there is none. Only what says that
 * it does so may call this: `serve` and `db migrate`.
 */
export function openOrCreateOwnDatabase(location: DatabaseLocation, logger: Logger): Promise<Database> {
  keepToUser();
  return openDatabase(location, logger);
}

/**
 * Opens a database that is there, whatever its schema.
 *
 * @throws NoDatabaseError where there is no embedded one.
 */
export function openOwnDatabase(location: DatabaseLocation, logger: Logger): Promise<Database> {
  keepToUser();
  return openDatabase(location, logger, { mustExist: true });
}

/**
 * Opens a database whose schema is the one of this program, and changes nothing of it.
 *
 * @throws NoDatabaseError where there is no embedded one.
 * @throws SchemaError where its schema is not the one of this program.
 */
export async function openCurrentDatabase(location: DatabaseLocation, logger: Logger): Promise<Database> {
  const database = await openOwnDatabase(location, logger);
  try {
    await requireCurrentSchema(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Whatever the process makes from now on without saying for whom, it makes for its user alone. */
function keepToUser(): void {
  process.umask(0o077);
}
