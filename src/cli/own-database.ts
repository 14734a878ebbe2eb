import type { Database } from '../db/database.ts';
import { type DatabaseLocation, openDatabase } from '../db/open.ts';
import type { Logger } from '../lib/logger.ts';

/**
 * Opens the database for as long as the process lives. Whatever the process makes from now on without saying
 * for whom, it makes for its user alone.
 */
export function openOwnDatabase(location: DatabaseLocation, logger: Logger): Promise<Database> {
  process.umask(0o077);
  return openDatabase(location, logger);
}
