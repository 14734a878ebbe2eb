import { type AdminClient, remoteAdminClient } from '../api/management/admin-client.ts';
import { ConfigError, type Environment } from '../config/load.ts';
import { ConfigLoads } from '../config/loads.ts';
import { NodeConfig } from '../config/node-config.ts';
import type { Config } from '../config/schema.ts';
import { readSealingKeys } from '../config/sealed-secrets/sealing-keys.ts';
import { NoDatabaseError } from '../db/data-dir.ts';
import { describeDatabase } from '../db/databases.ts';
import { systemClock } from '../lib/clock.ts';
import { withoutTrailing } from '../lib/trailing.ts';
import { CliError, type CliProcess, type GlobalFlags, sayTo, UsageError } from './command.ts';
import { demoEnvironment, findConfigSource, loadForBooks, readAdminToken } from './environment.ts';
import { localUserName } from './local-user.ts';
import { createQuietLogger } from './log/logger.ts';
import { findServingGateway, openBooks, type ServingGateway, withDatabases } from './own-database.ts';

/** What a command does. If it only reads, it prints which database it reads, so that a wrong data directory is noticed. */
export type AdminUse = 'reads' | 'changes';

/**
 * Runs a command's work with the admin API: that of the gateway that `--gateway` names, or of a gateway that serves the local database.
 * Without one, the admin API runs in this process on the database, which must exist and have the schema of this program.
 *
 * @throws NoDatabaseError, SchemaError, DataDirInUseError with advice for the user
 */
export async function withAdmin<Result>(
  flags: GlobalFlags,
  { environment, writeError }: CliProcess,
  use: AdminUse,
  work: (admin: AdminClient) => Promise<Result>,
): Promise<Result> {
  const say = sayTo({ writeError });
  const sayWhere = (where: string): void => {
    if (use === 'reads') say(where);
  };
  if (flags.gateway !== undefined) {
    const admin = namedGateway(flags.gateway, environment);
    sayWhere(`gateway: ${flags.gateway}`);
    return work(admin);
  }
  let config: Config;
  try {
    config = loadForBooks(flags, environment);
  } catch (error) {
    // A gateway that runs has its earlier configuration, and can report why the file is not loaded.
    const serving = error instanceof ConfigError ? findGateway(flags, environment, use) : null;
    if (serving === null) throw error;
    sayWhere(`database: the one of the gateway on ${serving.url}`);
    return work(askGateway(serving));
  }
  const { file, isDemo, overrides } = findConfigSource(flags, environment);
  const isUsualPlace = isDemo && overrides.dataDir === undefined;
  const name = await describeDatabase(config.database);
  const logger = createQuietLogger(environment);
  const books = await openBooks(config.database, logger, say).catch((error: unknown) => {
    throw error instanceof NoDatabaseError && isUsualPlace
      ? new CliError(`${error.message}\n${NO_CONFIGURATION}`, { cause: error })
      : error;
  });
  if ('gateway' in books) {
    sayWhere(`database: ${name}, through the gateway on ${books.gateway.url}`);
    return work(askGateway(books.gateway));
  }
  return withDatabases(Promise.resolve(books.databases), async (databases) => {
    const { createLocalAdmin } = await import('../app/local-admin.ts');
    const loads = new ConfigLoads(file, overrides, systemClock);
    const admin = await createLocalAdmin(
      config,
      databases,
      logger,
      loads,
      localUserName(),
      new NodeConfig(file, demoEnvironment(environment), overrides),
      () => readSealingKeys(environment),
    );
    sayWhere(`database: ${name}`);
    try {
      return await work(admin.client);
    } finally {
      await admin.close();
    }
  });
}

const NO_CONFIGURATION =
  'No configuration is named and there is no ./faregate.yaml, so this is the directory of the demo. Name your configuration with --config.';

export function askGateway({ url, adminToken }: ServingGateway): AdminClient {
  return remoteAdminClient(url, adminToken, localUserName());
}

/** Finds a gateway although the configuration cannot be loaded. Only commands that read search the default directory, too. */
function findGateway(flags: GlobalFlags, environment: Environment, use: AdminUse): ServingGateway | null {
  const { dataDir, databaseUrl } = findConfigSource(flags, environment).overrides;
  if (databaseUrl !== undefined || (dataDir === undefined && use !== 'reads')) return null;
  return findServingGateway(dataDir ?? './data');
}

export function namedGateway(address: string, environment: Environment): AdminClient {
  const { url, adminToken } = locateGateway(address, environment);
  return remoteAdminClient(url, adminToken);
}

export function locateGateway(address: string, environment: Environment): ServingGateway {
  if (!/^https?:\/\/[^/?#@]+\/*$/.test(address)) {
    throw new UsageError('--gateway: Expected an address such as https://gateway.example:8080.');
  }
  const token = readAdminToken(environment);
  if (token === null) throw new UsageError('--gateway needs the admin token of that gateway in FAREGATE_ADMIN_TOKEN.');
  return { url: withoutTrailing(address, '/'), adminToken: token };
}
