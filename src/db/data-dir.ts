import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ForeseenError } from '../lib/foreseen-error.ts';
import { isLocked, tryLock } from './directory-lock.ts';

/**
 * One process owns a data directory: the one that holds the lock of `gateway.lock` in it. `gateway.json` names the owner for
 * messages, and tells the command line where the running gateway listens; it decides nothing, because the process that it
 * names may be gone, or belong to another container.
 */
export interface DataDirOwner {
  readonly pid: number;
  /** The machine or container that the pid belongs to. */
  readonly host: string;
  /** Where the gateway listens, and the credential for this machine's command line; set once it listens. */
  readonly url?: string;
  readonly adminToken?: string;
  /** Its local server, with the password. */
  readonly databaseUrl?: string;
}

type Announced = Required<Pick<DataDirOwner, 'url' | 'adminToken' | 'databaseUrl'>>;

interface DataDirLock {
  release(): void;
}

export interface AcquireOptions {
  /** Called once, if another process has to let go of the directory first. */
  readonly onWaiting?: ((message: string) => void) | undefined;
  /** How long another process may take for that: one that was just killed, or that is about to end. */
  readonly patienceMs?: number | undefined;
  /** Ends the waiting, with its reason. */
  readonly stopped?: AbortSignal | undefined;
  /** Does not wait for a gateway that serves: the caller asks that one instead. */
  readonly unlessServed?: boolean | undefined;
}

/** Another process has the directory open. */
export class DataDirInUseError extends ForeseenError {
  /** `null` if it has not said yet who it is. */
  readonly owner: DataDirOwner | null;
  constructor(dataDir: string, owner: DataDirOwner | null) {
    super(
      `The data directory ${dataDir} is in use by ${describeOwner(owner)}. ` +
        'A local database has one owner at a time: stop that process, choose another directory with ' +
        'FAREGATE_DATA_DIR, or use PostgreSQL with DATABASE_URL.',
    );
    this.owner = owner;
  }
}

/** The file system of the directory has no locks. */
export class NoLockError extends ForeseenError {
  constructor(dataDir: string, cause: unknown) {
    super(
      `The data directory ${dataDir} cannot be locked (${cause instanceof Error ? cause.message : String(cause)}). It has to be ` +
        'on a local disk that this process may write to: choose another one with FAREGATE_DATA_DIR, or use PostgreSQL with ' +
        'DATABASE_URL.',
      { cause },
    );
  }
}

/** There is no database in the directory. */
export class NoDatabaseError extends ForeseenError {
  constructor(dataDir: string) {
    super(
      `There is no database in ${dataDir}; create one with "faregate db migrate", or start the gateway, which creates it: ` +
        'faregate serve',
    );
  }
}

const OWNER_FILE = 'gateway.json';
const LOCK_FILE = 'gateway.lock';
const PATIENCE_MS = 10_000;
const POLL_MS = 100;

/**
 * Waits until the directory is free, and takes it.
 *
 * @throws DataDirInUseError if it is not free in time, or served.
 * @throws NoLockError
 */
export async function acquireDataDir(dataDir: string, options: AcquireOptions = {}): Promise<DataDirLock> {
  const { onWaiting, patienceMs = PATIENCE_MS, stopped, unlessServed = false } = options;
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const lock = tryToAcquire(dataDir);
    if (lock !== null) return lock;
    const owner = readOwnerFile(dataDir);
    const isServed = unlessServed && owner?.url !== undefined;
    if (isServed || waitedMs >= patienceMs) throw new DataDirInUseError(dataDir, owner);
    if (waitedMs === 0) {
      onWaiting?.(
        `Waiting up to ${patienceMs / 1000} seconds for ${describeOwner(owner)} to let go of the data directory ${dataDir}.`,
      );
    }
    await sleep(Math.min(POLL_MS, patienceMs - waitedMs));
    stopped?.throwIfAborted();
  }
}

function tryToAcquire(dataDir: string): DataDirLock | null {
  const unlock = withLockFile(dataDir, tryLock);
  if (unlock === null) return null;
  try {
    writeOwnerFile(dataDir, {});
  } catch (error) {
    unlock();
    throw error;
  }
  let isReleased = false;
  return {
    release() {
      if (isReleased) return;
      isReleased = true;
      rmSync(join(dataDir, OWNER_FILE), { force: true });
      unlock();
    },
  };
}

/** Adds to the owner file where the gateway and its local server listen. Only the owner calls this. */
export function announceGateway(dataDir: string, gateway: Announced): void {
  writeOwnerFile(dataDir, gateway);
}

/** What is known of the process that owns the directory now; `null` if none does. */
export function readDataDirOwner(dataDir: string): DataDirOwner | null {
  return withLockFile(dataDir, isLocked) ? readOwnerFile(dataDir) : null;
}

function withLockFile<Result>(dataDir: string, work: (file: string) => Result): Result {
  try {
    return work(join(dataDir, LOCK_FILE));
  } catch (error) {
    throw new NoLockError(dataDir, error);
  }
}

/** Written under another name first: no process ever reads half of it. A power cut may take it, and ends its process too. */
function writeOwnerFile(dataDir: string, gateway: Partial<Announced>): void {
  const file = join(dataDir, OWNER_FILE);
  const owner: DataDirOwner = { pid: process.pid, host: hostname(), ...gateway };
  writeFileSync(`${file}.new`, JSON.stringify(owner), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

function readOwnerFile(dataDir: string): DataDirOwner | null {
  try {
    const owner = JSON.parse(readFileSync(join(dataDir, OWNER_FILE), 'utf8')) as DataDirOwner | null;
    return owner !== null && Number.isInteger(owner.pid) && owner.pid > 0 ? owner : null;
  } catch {
    return null;
  }
}

function describeOwner(owner: DataDirOwner | null): string {
  if (owner === null) return 'another process';
  const host = owner.host === hostname() ? '' : ` of ${owner.host}`;
  return `process ${owner.pid}${host}${owner.url === undefined ? '' : ` (listening on ${owner.url})`}`;
}
