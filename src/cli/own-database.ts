import { existsSync } from 'node:fs';
import type { Config } from '../config/schema.ts';
import { DataDirInUseError, type DataDirOwner, readDataDirOwner } from '../db/data-dir.ts';
import { type DatabaseLocation, type Databases, type OpenOptions, openDatabases } from '../db/databases.ts';
import { type LocalServer, startLocalServer } from '../db/local/local-server.ts';
import { requireCurrentSchema } from '../db/migrate.ts';
import { requireCurrentPartitions } from '../db/partitions.ts';
import type { Logger } from '../lib/logger.ts';
import { UnreachableError } from './command.ts';

/** Receives a message if another process must first release the local database. */
type OnWaiting = NonNullable<OpenOptions['onWaiting']>;

/** Opens the database; creates a missing local one. Only for `serve`, `db migrate` and `db import`, whose descriptions say so. */
export function openOrCreateOwnDatabases(
  location: DatabaseLocation,
  logger: Logger,
  onWaiting: OnWaiting,
  options: Pick<OpenOptions, 'stopped' | 'statementConnections' | 'partitions'> = {},
): Promise<Databases> {
  keepToUser();
  return openDatabases(location, logger, { onWaiting, ...options });
}

export function startOwnServer(
  { dataDir, binaries }: Config['database'],
  logger: Logger,
  onWaiting: OnWaiting,
): Promise<LocalServer> {
  keepToUser();
  return startLocalServer({ dataDir, binaries: binaries ?? null, logger, onWaiting });
}

/**
 * Opens an existing database, whatever the version of its schema.
 *
 * @throws NoDatabaseError if there is no local database
 */
export function openOwnDatabases(location: DatabaseLocation, logger: Logger, onWaiting: OnWaiting): Promise<Databases> {
  keepToUser();
  return openDatabases(location, logger, { mustExist: true, onWaiting });
}

export async function withDatabases<Result>(
  opened: Promise<Databases>,
  work: (databases: Databases) => Promise<Result>,
): Promise<Result> {
  const databases = await opened;
  try {
    return await work(databases);
  } finally {
    await databases.close();
  }
}

export interface ServingGateway {
  readonly url: string;
  readonly adminToken: string;
}

/**
 * Finds the gateway that serves the local database, and waits for one that is starting. If there is none, opens the database in this
 * process.
 *
 * @throws NoDatabaseError if there is no local database
 * @throws SchemaError if the schema of the database or of a partition is not that of this program
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

export function findServingGateway(dataDir: string): ServingGateway | null {
  return existsSync(dataDir) ? servingGateway(readDataDirOwner(dataDir)) : null;
}

/** Returns the URL of the local server. @throws UnreachableError if no gateway runs, because the server runs only while a gateway does */
export function localServerUrl(dataDir: string): string {
  const owner = existsSync(dataDir) ? readDataDirOwner(dataDir) : null;
  if (owner?.databaseUrl !== undefined) return owner.databaseUrl;
  throw new UnreachableError(
    `The database server of ${dataDir} runs only while a gateway runs. Start the gateway: faregate serve`,
  );
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

/** Makes new files and directories of this process accessible to its user only. */
function keepToUser(): void {
  process.umask(0o077);
}
