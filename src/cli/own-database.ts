import { existsSync } from 'node:fs';
import type { Config } from '../config/schema.ts';
import { DataDirInUseError, type DataDirOwner, readDataDirOwner } from '../db/data-dir.ts';
import { type DatabaseLocation, type Databases, type OpenOptions, openDatabases } from '../db/databases.ts';
import { type LocalServer, startLocalServer } from '../db/local/local-server.ts';
import { requireCurrentSchema } from '../db/migrate.ts';
import { requireCurrentPartitions } from '../db/partitions.ts';
import type { Logger } from '../lib/logger.ts';
import { CliError } from './command.ts';

/** Says whom the command waits for. */
type OnWaiting = NonNullable<OpenOptions['onWaiting']>;

/**
 * Opens the database and its partitions until the process ends, and creates a local one if there is none. Only commands whose
 * description says so may call this: `serve`, `db migrate` and `db import`.
 */
export function openOrCreateOwnDatabases(
  location: DatabaseLocation,
  logger: Logger,
  onWaiting: OnWaiting,
  options: Pick<OpenOptions, 'stopped' | 'statementConnections' | 'partitions'> = {},
): Promise<Databases> {
  keepToUser();
  return openDatabases(location, logger, { onWaiting, ...options });
}

/** Starts the local server for other processes of this gateway. */
export function startOwnServer(
  { dataDir, binaries }: Config['database'],
  logger: Logger,
  onWaiting: OnWaiting,
): Promise<LocalServer> {
  keepToUser();
  return startLocalServer({ dataDir, binaries: binaries ?? null, logger, onWaiting });
}

/**
 * Opens an existing database and its partitions, whatever their schemas.
 *
 * @throws NoDatabaseError if there is no local database.
 */
export function openOwnDatabases(location: DatabaseLocation, logger: Logger, onWaiting: OnWaiting): Promise<Databases> {
  keepToUser();
  return openDatabases(location, logger, { mustExist: true, onWaiting });
}

/** A gateway that serves the local database, and the credential for the command line of its machine. */
export interface ServingGateway {
  readonly url: string;
  readonly adminToken: string;
}

/**
 * The gateway that serves the local database, or else the database itself with its partitions, opened for this process. A gateway that
 * is about to serve is waited for.
 *
 * @throws NoDatabaseError if there is no local database.
 * @throws SchemaError where the schema, or that of a partition, is not that of this program, which is not changed.
 */
export async function openBooks(
  location: DatabaseLocation,
  logger: Logger,
  onWaiting: OnWaiting,
): Promise<{ readonly gateway: ServingGateway } | { readonly databases: Databases }> {
  const serving = location.url === '' ? findServingGateway(location.dataDir) : null;
  if (serving !== null) return { gateway: serving };
  try {
    return { databases: await openCurrentDatabases(location, logger, onWaiting) };
  } catch (error) {
    const begun = error instanceof DataDirInUseError ? servingGateway(error.owner) : null;
    if (begun === null) throw error;
    return { gateway: begun };
  }
}

/** The gateway that serves the local database of a directory; `null` if none does. */
export function findServingGateway(dataDir: string): ServingGateway | null {
  return existsSync(dataDir) ? servingGateway(readDataDirOwner(dataDir)) : null;
}

/**
 * The address of the local server of a directory.
 *
 * @throws CliError if no gateway runs, and so no server.
 */
export function localServerUrl(dataDir: string): string {
  const owner = existsSync(dataDir) ? readDataDirOwner(dataDir) : null;
  if (owner?.databaseUrl !== undefined) return owner.databaseUrl;
  throw new CliError(`The local server of ${dataDir} runs while a gateway does. Start the gateway: faregate serve`);
}

function servingGateway(owner: DataDirOwner | null): ServingGateway | null {
  const { url, adminToken } = owner ?? {};
  return url === undefined || adminToken === undefined ? null : { url, adminToken };
}

async function openCurrentDatabases(
  location: DatabaseLocation,
  logger: Logger,
  onWaiting: OnWaiting,
): Promise<Databases> {
  keepToUser();
  const databases = await openDatabases(location, logger, { mustExist: true, onWaiting, unlessServed: true });
  try {
    await requireCurrentSchema(databases.directory);
    await requireCurrentPartitions(databases);
    return databases;
  } catch (error) {
    await databases.close();
    throw error;
  }
}

/** Makes files and directories that the process creates from now on readable by its user only. */
function keepToUser(): void {
  process.umask(0o077);
}
