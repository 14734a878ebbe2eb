import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from './binaries.ts';
import { LocalServerError, NoOtherUserError, USE_A_SERVER } from './local-server-error.ts';
import { freeUser, isRoot, type ServerUser } from './server-user.ts';

/**
 * Where a cluster is, and the user of its server. Usually it is in the data directory. But PostgreSQL does not run as root, and no other
 * user may read root's journal, spool and tokens. So root's cluster is elsewhere and belongs to an unused user id.
 */
export interface Place {
  /** Directory that contains only this cluster. If root created it, the server's group can enter it. */
  readonly home: string;
  readonly cluster: string;
  readonly user: ServerUser;
}

const HOME = 'postgres';
const CLUSTER = 'cluster';
const ROOT_HOMES = '/var/lib/faregate';
const OTHER_ROOT_HOMES = '/var/lib/faregate-servers';
/** Type that `statfs` reports for overlay file systems, which hold image layers of containers. */
const OVERLAY = 0x794c7630;

const placeAt = (home: string, user: ServerUser): Place => ({ home, cluster: join(home, CLUSTER), user });

export function rootHomes(dataDir: string): string {
  return realpathSync(dataDir) !== ROOT_HOMES && isForHomes(ROOT_HOMES) ? ROOT_HOMES : OTHER_ROOT_HOMES;
}

/** Whether a directory is suitable for root's clusters. A data directory is not, because other users cannot enter it. */
function isForHomes(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return true;
  return stats.uid === 0 && (stats.mode & 0o023) === 0o001 && !existsSync(join(path, 'gateway.lock'));
}

export function newPlace(dataDir: string, clustersDir: string): Place {
  if (!isRoot()) return placeAt(join(dataDir, HOME), null);
  try {
    makeDirectory(clustersDir, 0o711);
  } catch (error) {
    throw cannotMake(clustersDir, error);
  }
  if (typeOf(clustersDir) === OVERLAY && typeOf(dataDir) !== OVERLAY) {
    throw new LocalServerError(
      `The data directory ${dataDir} outlives this container, but its database would not, because root's databases are in ${clustersDir}`,
      `Run the container as the owner of the data directory (--user), mount a volume at that directory too, or ${USE_A_SERVER}.`,
    );
  }
  const hash = createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 16);
  // A deleted data directory with the same path may have left a cluster of this name.
  let home = join(clustersDir, hash);
  for (let i = 2; existsSync(home); i++) home = join(clustersDir, `${hash}-${i}`);
  return placeAt(home, freeUser(clustersDir, Number.parseInt(hash.slice(0, 8), 16)));
}

const typeOf = (path: string): number => (process.platform === 'linux' ? statfsSync(path).type : 0);

export function makePlace({ home, user }: Place): void {
  try {
    mkdirSync(home, { mode: 0o700 });
    if (user !== null) giveHome(home, user.gid);
  } catch (error) {
    throw cannotMake(home, error);
  }
}

export function removePlace(home: string): void {
  if (!existsSync(home)) return;
  // A program of a killed gateway may still write here, and rmSync can fail silently if a file disappears. Now it finds nothing.
  const removed = `${home}.${randomBytes(4).toString('hex')}`;
  renameSync(home, removed);
  rmSync(removed, { recursive: true, force: true });
}

/** Makes root the owner, so that the server cannot change the directory. The server's group may enter it. */
function giveHome(home: string, gid: number): void {
  give(home, 0, gid);
  chmodSync(home, 0o710);
}

/** Changes the owner and checks the result, because some file systems silently keep the old one. */
export function give(path: string, uid: number, gid: number): void {
  chownSync(path, uid, gid);
  const { uid: owner, gid: group } = statSync(path);
  if (owner === uid && group === gid) return;
  throw new LocalServerError(
    `The file system of ${path} does not support file owners, but the server needs its own user, because PostgreSQL does not run as root`,
    `Run as an ordinary user, or ${USE_A_SERVER}.`,
  );
}

/**
 * Returns the place of an existing cluster. Restores owners and permissions, which an orchestrator may have changed.
 *
 * @param home the directory of a cluster that root owns; `null`: the cluster is in the data directory
 * @throws LocalServerError if the cluster is missing, or this process cannot run its server
 */
export function knownPlace(dataDir: string, home: string | null): Place {
  const cluster = join(home ?? join(dataDir, HOME), CLUSTER);
  const me = process.getuid?.();
  if (home !== null && me !== 0) {
    throw new LocalServerError(
      `The database of ${dataDir} was created by root in ${home}, but this process is user ${me}`,
      'Run as root, or move the database with "faregate db export" and "faregate db import".',
    );
  }
  const stats = statSync(cluster, { throwIfNoEntry: false });
  if (stats === undefined) {
    throw new LocalServerError(
      `The database of ${dataDir} is missing: it was created in ${cluster}`,
      'Restore that directory, or mount the volume that it is on. To start with an empty database, remove ' +
        `${join(dataDir, 'postgres.json')} and ${join(dataDir, 'journal')}.`,
    );
  }
  const { uid, gid } = stats;
  if (me !== 0) {
    if (uid === me) return placeAt(join(dataDir, HOME), null);
    throw new LocalServerError(
      `The database ${cluster} belongs to user ${uid}, but this process is user ${me}`,
      `Run as its owner or as root, or give it to this user: chown -R ${me} ${dataDir}`,
    );
  }
  if (uid === 0) {
    throw new LocalServerError(
      `The database ${cluster} belongs to root, and PostgreSQL does not run as root`,
      `Change its owner back: chown -R USER ${cluster}`,
    );
  }
  if (home === null) return placeAt(join(dataDir, HOME), { uid, gid });
  giveHome(home, uid);
  chmodSync(cluster, 0o700);
  return placeAt(home, { uid, gid: uid });
}

function cannotMake(path: string, error: unknown): Error {
  if (error instanceof LocalServerError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const remedy = `Run as an ordinary user: the database is then in the data directory. Or ${USE_A_SERVER}.`;
  if (code === 'EROFS') {
    return new LocalServerError(
      `The directory ${path} for root's databases cannot be created: the file system is read-only`,
      `Mount a volume at that path. ${remedy}`,
      error,
    );
  }
  if (code === 'EPERM' || code === 'EINVAL') return new NoOtherUserError(error);
  return new LocalServerError(`${path} cannot be created: ${message}`, remedy, error);
}
