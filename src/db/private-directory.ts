import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ForeseenError } from '../lib/foreseen-error.ts';
import type { Logger } from '../lib/logger.ts';

/**
 * This file keeps the data directory private to its owner (mode 0700, files 0600): it contains all balances, hashes of all keys, and a
 * credential of the admin API. If permissions cannot be set, the log contains a command to do so. The gateway refuses to start only if
 * every user of the machine could write to the directory.
 */

export class OpenDataDirError extends ForeseenError {
  constructor(path: string, command: string) {
    super(
      `Everybody on this machine can write to ${path}, which contains the gateway’s data. Choose a private directory ` +
        `with FAREGATE_DATA_DIR, or run as the owner of this one: ${command}`,
    );
  }
}

const OWN_DIRECTORIES = ['db', 'journal', 'postgres', 'spool'];

/** Thrown if the data directory cannot be created or read, or is not a directory. */
class UnusableDataDirError extends ForeseenError {
  constructor(dataDir: string, cause: NodeJS.ErrnoException) {
    super(
      `The data directory ${dataDir} cannot be used: ${reasonOf(dataDir, cause)}. Fix the cause, or choose another directory ` +
        'with FAREGATE_DATA_DIR or database.dataDir.',
      { cause },
    );
  }
}

function reasonOf(dataDir: string, { code, message }: NodeJS.ErrnoException): string {
  for (const path of [dataDir, ...OWN_DIRECTORIES.map((name) => join(dataDir, name))]) {
    const obstacle = obstacleOf(path);
    if (obstacle !== null) return obstacle;
  }
  if (code === 'EACCES' || code === 'EPERM') return 'this user cannot create or read it';
  if (code === 'EROFS') return 'its file system is read-only';
  return message;
}

/** Describes the file or link that is in the place of the directory or one of its parents; `null` if there is none. */
export function obstacleOf(path: string): string | null {
  const parent = dirname(path);
  const entry = orNull(() => lstatSync(path));
  if (entry === null) return parent === path ? null : obstacleOf(parent);
  if (orNull(() => statSync(path))?.isDirectory()) return null;
  if (!entry.isSymbolicLink()) return `${path} is not a directory`;
  return `${path} is a link to ${readlinkSync(path)}, which is not a directory or does not exist`;
}

/** Returns the result of `look`; `null` if the path does not exist or cannot be read. */
function orNull<Result>(look: () => Result): Result | null {
  try {
    return look();
  } catch {
    return null;
  }
}

/** Functions of the operating system; a parameter, so that tests can make them fail. */
export interface Rights {
  readonly change: (path: string, mode: number) => void;
  /** Whether files in this directory keep their permissions; on some network drives they do not. */
  readonly areKept: (directory: string) => boolean;
}

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
const EVERYBODY_WRITES = 0o002;
const EVERYBODY_ENTERS = 0o001;

/** Names of entries that the gateway creates in a data directory, also as prefixes of names such as `db.new`. */
const OWN_NAMES = /^(db|journal|postgres|spool|gateway\.json|gateway\.lock|demo\.json)(\.|$)/;

/** Maximum number of entries that are checked. A new database has some 1,500. Checking far more would delay the start. */
const ENTRIES_MAX = 200_000;

export function makePrivateDirectory(dataDir: string, logger?: Logger, rights: Rights = systemRights): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: DIRECTORY_MODE });
    readdirSync(dataDir);
    for (const name of OWN_DIRECTORIES) if (obstacleOf(join(dataDir, name)) !== null) readdirSync(join(dataDir, name));
  } catch (error) {
    throw new UnusableDataDirError(dataDir, error as NodeJS.ErrnoException);
  }
  // On Windows, permissions are inherited from the parent directory.
  if (process.platform === 'win32') return;
  const root = realpathSync(dataDir);
  const names = readdirSync(root);
  const scan = new PermissionScan(rights);
  if (isShared(root, names)) scan.leave(root);
  else scan.restrict(root, DIRECTORY_MODE);
  const isEntered = (modeOf(root) & EVERYBODY_ENTERS) !== 0;
  for (const name of names) if (OWN_NAMES.test(name)) scan.visit(join(root, name), isEntered);

  const { failed, worldWritable, isIncomplete } = scan;
  const command = worldWritable === root ? `chmod go= ${quote(dataDir)}` : `chmod -R go= ${quote(dataDir)}`;
  if (worldWritable !== null && rights.areKept(root)) throw new OpenDataDirError(worldWritable, command);
  if (failed.length > 0) {
    const details = { dataDir, paths: failed.slice(0, 5), count: failed.length };
    logger?.warn(details, `other users of this machine can access the gateway’s data; as its owner, run: ${command}`);
  } else if (isIncomplete) {
    logger?.warn({ dataDir }, `the data directory is too large to check its permissions at start; run: ${command}`);
  }
}

/** Whether others use the directory, as with /tmp, or other programs have directories in it. If so, its permissions are not changed. */
function isShared(root: string, names: readonly string[]): boolean {
  if ((modeOf(root) & 0o1000) !== 0) return true;
  return names.some(
    (name) =>
      !OWN_NAMES.test(name) &&
      name !== 'lost+found' &&
      !name.startsWith('.') &&
      orNull(() => lstatSync(join(root, name)))?.isDirectory(),
  );
}

class PermissionScan {
  /** Paths that other users can access and whose permissions could not be set. */
  readonly failed: string[] = [];
  worldWritable: string | null = null;
  isIncomplete = false;
  readonly #rights: Rights;
  #entries = 0;

  constructor(rights: Rights) {
    this.#rights = rights;
  }

  /** @param isReached whether every user can enter the parent directories */
  visit(path: string, isReached: boolean): void {
    if (++this.#entries > ENTRIES_MAX) {
      this.isIncomplete = true;
      return;
    }
    let stats: ReturnType<typeof lstatSync>;
    try {
      stats = lstatSync(path);
      // Symbolic links are not followed.
      if (stats.isDirectory()) {
        const left = this.restrict(path, DIRECTORY_MODE, stats.mode, isReached);
        const isEntered = isReached && (left & EVERYBODY_ENTERS) !== 0;
        for (const name of readdirSync(path)) this.visit(join(path, name), isEntered);
      } else if (stats.isFile()) {
        this.restrict(path, FILE_MODE, stats.mode, isReached);
      }
    } catch (error) {
      // ENOENT means that the file was deleted; any other error, that the directory belongs to another user.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.failed.push(path);
    }
  }

  /** Restricts permissions. Returns those that result. */
  restrict(path: string, mode: number, given = modeOf(path), isReached = true): number {
    if ((given & OTHERS) === 0) return given;
    try {
      this.#rights.change(path, mode);
    } catch {
      // This user is not the owner, or the file system has no permissions. The mode is read below in any case.
    }
    const left = modeOf(path);
    if ((left & OTHERS) !== 0 && isReached) this.#report(path, left);
    return left;
  }

  /** Leaves a shared directory as it is. Other users may read its names, but must not replace its entries. */
  leave(path: string): void {
    const mode = modeOf(path);
    if ((mode & OTHERS_WRITE) !== 0) this.#report(path, mode);
  }

  #report(path: string, mode: number): void {
    this.failed.push(path);
    if ((mode & EVERYBODY_WRITES) !== 0) this.worldWritable ??= path;
  }
}

function modeOf(path: string): number {
  return statSync(path).mode;
}

/** Quotes a path as one argument of a shell command. */
function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

export const systemRights: Rights = {
  change: chmodSync,
  areKept(directory) {
    const probe = join(directory, `gateway.json.rights-${randomBytes(8).toString('hex')}`);
    try {
      const file = openSync(probe, 'wx', FILE_MODE);
      try {
        fchmodSync(file, FILE_MODE);
        return (fstatSync(file).mode & OTHERS) === 0;
      } finally {
        closeSync(file);
        rmSync(probe, { force: true });
      }
    } catch {
      return false;
    }
  },
};
