import type { Database } from '../db/database.ts';
import { requireCurrentSchema } from '../db/migrate.ts';
import { type DatabaseLocation, type OpenOptions, openDatabase } from '../db/open.ts';
import type { Logger } from '../lib/logger.ts';

/** Says whom the command waits for. */
type OnWaiting = NonNullable<OpenOptions['onWaiting']>;

/**
 * Opens the database until the process ends, and creates an embedded one where there is none. Only commands whose
 * description says so may call this: `serve`, `db migrate` and `db import`.
 */
export function openOrCreateOwnDatabase(
  location: DatabaseLocation,
  logger: Logger,
  onWaiting: OnWaiting,
): Promise<Database> {
  keepToUser();
  return openDatabase(location, logger, { onWaiting });
}

/**
 * Opens an existing database, whatever its schema.
 *
 * @throws NoDatabaseError where there is no embedded database.
 */
export function openOwnDatabase(location: DatabaseLocation, logger: Logger, onWaiting: OnWaiting): Promise<Database> {
  keepToUser();
  return openDatabase(location, logger, { mustExist: true, onWaiting });
}

/**
 * Opens an existing database with the schema of this program, and does not change the schema.
 *
 * @throws NoDatabaseError where there is no embedded database.
 * @throws SchemaError where the schema is not that of this program.
 */
export async function openCurrentDatabase(
  location: DatabaseLocation,
  logger: Logger,
  onWaiting: OnWaiting,
): Promise<Database> {
  const database = await openOwnDatabase(location, logger, onWaiting);
  try {
    await requireCurrentSchema(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Makes files and directories that the process creates from now on readable by its user only. */
function keepToUser(): void {
  process.umask(0o077);
}
