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
 * Where a cluster is and whom its server runs as. Usually the cluster is in the data directory. PostgreSQL does not run as
 * root, and the journal, the spool and the tokens of root are nothing for a weaker user. So a cluster that root makes is
 * outside of the data directory, and belongs to a user id that nothing else uses.
 */
export interface Place {
  /** What the gateway has made for this cluster. Of root: the server's group may enter it. */
  readonly home: string;
  readonly cluster: string;
  readonly user: ServerUser;
}

const HOME = 'postgres';
const CLUSTER = 'cluster';
const ROOT_HOMES = '/var/lib/faregate';
const OTHER_ROOT_HOMES = '/var/lib/faregate-servers';
/** The type that `statfs` has for the layers of a container. */
const OVERLAY = 0x794c7630;

const placeAt = (home: string, user: ServerUser): Place => ({ home, cluster: join(home, CLUSTER), user });

/** Where root has its clusters and copies of programs. */
export function rootHomes(dataDir: string): string {
  return realpathSync(dataDir) !== ROOT_HOMES && isForHomes(ROOT_HOMES) ? ROOT_HOMES : OTHER_ROOT_HOMES;
}

/** The image of a container, and many a service, has its data directory under that name, or in it; others cannot enter that. */
function isForHomes(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return true;
  return stats.uid === 0 && (stats.mode & 0o023) === 0o001 && !existsSync(join(path, 'gateway.lock'));
}

/** @returns the place of a cluster that is not there; `removePlace` removes what is made there. */
export function newPlace(dataDir: string, clustersDir: string): Place {
  if (!isRoot()) return placeAt(join(dataDir, HOME), null);
  try {
    makeDirectory(clustersDir, 0o711);
  } catch (error) {
    throw cannotMake(clustersDir, error);
  }
  if (typeOf(clustersDir) === OVERLAY && typeOf(dataDir) !== OVERLAY) {
    throw new LocalServerError(
      `The data directory ${dataDir} outlives this container, but its database would not: root has that in ${clustersDir}`,
      `Run the container as the owner of the data directory (--user), mount a volume there too, or ${USE_A_SERVER}.`,
    );
  }
  const hash = createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 16);
  // A data directory of this name that was deleted may have left its cluster.
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
  // A program that a killed gateway has started may still work there: it does not find this name, and Node would leave a directory without
  // an error if a file of it is removed meanwhile.
  const removed = `${home}.${randomBytes(4).toString('hex')}`;
  renameSync(home, removed);
  rmSync(removed, { recursive: true, force: true });
}

/** Root's, so that the server changes nothing in it, and its group may enter. */
function giveHome(home: string, gid: number): void {
  give(home, 0, gid);
  chmodSync(home, 0o710);
}

/** Some file systems, such as those shared with a host of another kind, take a change of the owner and keep the old one. */
export function give(path: string, uid: number, gid: number): void {
  chownSync(path, uid, gid);
  const { uid: owner, gid: group } = statSync(path);
  if (owner === uid && group === gid) return;
  throw new LocalServerError(
    `The file system of ${path} keeps no owners, and the server needs a user of its own, because PostgreSQL does not run as root`,
    `Run as an ordinary user, or ${USE_A_SERVER}.`,
  );
}

/**
 * The place of a cluster that was made, with the owners and rights that an orchestrator may have changed.
 *
 * @param home that of a cluster that root made; `null`: in the data directory.
 * @throws LocalServerError if it is not there, or this process cannot run its server.
 */
export function knownPlace(dataDir: string, home: string | null): Place {
  const cluster = join(home ?? join(dataDir, HOME), CLUSTER);
  const me = process.getuid?.();
  if (home !== null && me !== 0) {
    throw new LocalServerError(
      `The database of ${dataDir} was made by root, in ${home}, and this process is user ${me}`,
      'Run as root, or move the database with "faregate db export" and "faregate db import".',
    );
  }
  const stats = statSync(cluster, { throwIfNoEntry: false });
  if (stats === undefined) {
    throw new LocalServerError(
      `The database of ${dataDir} is missing: it was made in ${cluster}`,
      'Restore that directory, or mount the volume that it is on. To begin anew with an empty database, remove ' +
        `${join(dataDir, 'postgres.json')} and ${join(dataDir, 'journal')}.`,
    );
  }
  const { uid, gid } = stats;
  if (me !== 0) {
    if (uid === me) return placeAt(join(dataDir, HOME), null);
    throw new LocalServerError(
      `The database ${cluster} belongs to user ${uid}, and this process is user ${me}`,
      `Run as its owner or as root, or give it to this user: chown -R ${me} ${dataDir}`,
    );
  }
  if (uid === 0) {
    throw new LocalServerError(
      `The database ${cluster} belongs to root, and PostgreSQL does not run as root`,
      `Give it to the user that it belonged to: chown -R USER ${cluster}`,
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
  const remedy = `Run as an ordinary user, which has its database in the data directory, or ${USE_A_SERVER}.`;
  if (code === 'EROFS') {
    return new LocalServerError(
      `${path} cannot be made, where root has its database: the file system can only be read`,
      `Mount a volume there. ${remedy}`,
      error,
    );
  }
  if (code === 'EPERM' || code === 'EINVAL') return new NoOtherUserError(error);
  return new LocalServerError(`${path} cannot be made: ${message}`, remedy, error);
}
