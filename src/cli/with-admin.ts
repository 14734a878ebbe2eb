import { type AdminClient, remoteAdminClient } from '../api/admin/client.ts';
import { describeDatabase } from '../db/open.ts';
import { escapeText } from '../lib/plain-text.ts';
import type { CliProcess, GlobalFlags } from './command.ts';
import { loadForBooks } from './environment.ts';
import { createLogger } from './logger.ts';
import { openBooks } from './own-database.ts';

/** Whether a command only reads. If so, it prints which database it reads, so that a wrong data directory is noticed. */
export type AdminUse = 'reads' | 'changes';

/**
 * Runs a command's work through the admin API. One process at a time can open the embedded database: where a gateway runs
 * on it, the command calls that gateway, else it opens the database itself, which must exist with the schema of this
 * program.
 *
 * @throws NoDatabaseError, SchemaError, DataDirInUseError with messages that say what to do.
 */
export async function withAdmin<Result>(
  flags: GlobalFlags,
  { environment, writeError }: CliProcess,
  use: AdminUse,
  work: (admin: AdminClient) => Promise<Result>,
): Promise<Result> {
  const config = loadForBooks(flags, environment);
  const name = await describeDatabase(config.database);
  const printDatabase = (database: string): void => {
    if (use === 'reads') writeError(`database: ${escapeText(database)}\n`);
  };
  const logger = createLogger({ ...environment, LOG_LEVEL: environment.LOG_LEVEL ?? 'error' });
  const books = await openBooks(config.database, logger, (message) => writeError(`${escapeText(message)}\n`));
  if ('gateway' in books) {
    const { url, adminToken } = books.gateway;
    printDatabase(`${name}, through the gateway on ${url}`);
    return work(remoteAdminClient(url, adminToken));
  }
  const { database } = books;
  try {
    const { createLocalAdmin } = await import('../app/local-admin.ts');
    const admin = createLocalAdmin(config, database, logger);
    printDatabase(name);
    try {
      return await work(admin.client);
    } finally {
      await admin.close();
    }
  } finally {
    await database.close();
  }
}
