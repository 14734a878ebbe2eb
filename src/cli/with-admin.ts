import { randomBytes } from 'node:crypto';
import { type AdminClient, localAdminClient, remoteAdminClient } from '../admin/client.ts';
import { createGateway } from '../app.ts';
import type { Environment } from '../config/load.ts';
import { readDataDirOwner } from '../db/data-dir.ts';
import type { GlobalFlags } from './command.ts';
import { loadForBooks } from './environment.ts';
import { createLogger } from './logger.ts';
import { openOwnDatabase } from './own-database.ts';

/**
 * Runs a command's work against the books. The embedded database has one owner at a time: where a gateway is running on
 * it, the command asks that gateway; else it opens the database itself.
 */
export async function withAdmin<Result>(
  flags: GlobalFlags,
  environment: Environment,
  work: (admin: AdminClient) => Promise<Result>,
): Promise<Result> {
  const config = loadForBooks(flags, environment);
  if (config.database.url === '') {
    const owner = readDataDirOwner(config.database.dataDir);
    if (owner?.url !== undefined && owner.adminToken !== undefined) {
      return work(remoteAdminClient(owner.url, owner.adminToken));
    }
  }
  const logger = createLogger({ ...environment, LOG_LEVEL: environment.LOG_LEVEL ?? 'error' });
  const database = await openOwnDatabase(config.database, logger);
  const token = randomBytes(24).toString('base64url');
  const gateway = await createGateway({ config, database, logger, adminTokens: [token], takesCalls: false }).catch(
    async (error: unknown) => {
      await database.close();
      throw error;
    },
  );
  try {
    await gateway.app.ready();
    return await work(localAdminClient(gateway.app, token));
  } finally {
    await gateway.close();
  }
}
