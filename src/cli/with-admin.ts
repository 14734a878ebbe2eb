import { type AdminClient, remoteAdminClient } from '../api/admin/client.ts';
import { createLocalAdmin } from '../app/local-admin.ts';
import { readDataDirOwner } from '../db/data-dir.ts';
import { describeDatabase } from '../db/open.ts';
import { escapeText } from '../lib/plain-text.ts';
import type { CliProcess, GlobalFlags } from './command.ts';
import { loadForBooks } from './environment.ts';
import { createLogger } from './logger.ts';
import { openCurrentDatabase } from './own-database.ts';

/** Whether a command only reads. One that does says which database it reads: that of another directory looks the same. */
export type AdminUse = 'reads' | 'changes';

/**
 * Runs a command's work through the admin API. The embedded database has one owner at a time: where a gateway is running on
 * it, the command asks that gateway; else it opens the database itself, which must be there with the schema of this program.
 *
 * @throws NoDatabaseError, SchemaError, DataDirInUseError with what to do about it.
 */
export async function withAdmin<Result>(
  flags: GlobalFlags,
  { environment, writeError }: CliProcess,
  use: AdminUse,
  work: (admin: AdminClient) => Promise<Result>,
): Promise<Result> {
  const config = loadForBooks(flags, environment);
  const name = await describeDatabase(config.database);
  const tell = (database: string): void => {
    if (use === 'reads') writeError(`database: ${escapeText(database)}\n`);
  };
  if (config.database.url === '') {
    const owner = readDataDirOwner(config.database.dataDir);
    if (owner?.url !== undefined && owner.adminToken !== undefined) {
      tell(`${name}, through the gateway on ${owner.url}`);
      return work(remoteAdminClient(owner.url, owner.adminToken));
    }
  }
  const logger = createLogger({ ...environment, LOG_LEVEL: environment.LOG_LEVEL ?? 'error' });
  const database = await openCurrentDatabase(config.database, logger);
  try {
    const admin = createLocalAdmin(config, database, logger);
    tell(name);
    try {
      return await work(admin.client);
    } finally {
      await admin.close();
    }
  } finally {
    await database.close();
  }
}
