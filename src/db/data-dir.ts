import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ForeseenError } from '../lib/foreseen-error.ts';
import { isLocked, tryLock } from './directory-lock.ts';

/**
 * The content of `gateway.json`, which messages show and in which the command line finds the gateway's address. It does not prove that a
 * gateway runs: only the lock on `gateway.lock` does. The process may have ended or run in another container.
 */
export interface DataDirOwner {
  readonly pid: number;
  /** The machine or container in which the process runs. */
  readonly host: string;
  /** The gateway's address with the credential for the local command line. Set once the gateway listens. */
  readonly url?: string;
  readonly adminToken?: string;
  /** URL of the local server. Contains the password. */
  readonly databaseUrl?: string;
}

type Announced = Required<Pick<DataDirOwner, 'url' | 'adminToken' | 'databaseUrl'>>;

interface DataDirLock {
  release(): void;
}

export interface AcquireOptions {
  readonly onWaiting?: ((message: string) => void) | undefined;
  /** How long to wait for a process that is about to exit. */
  readonly patienceMs?: number | undefined;
  readonly stopped?: AbortSignal | undefined;
  /** Whether to fail at once if a gateway uses the directory, so that the caller can send its request to that gateway. */
  readonly unlessServed?: boolean | undefined;
}

export class DataDirInUseError extends ForeseenError {
  /** The process that uses the directory; `null` if it has not written its file yet. */
  readonly owner: DataDirOwner | null;
  constructor(dataDir: string, owner: DataDirOwner | null) {
    super(
      `The data directory ${dataDir} is in use by ${describeOwner(owner)}. ` +
        'A local database can be used by one process at a time. Stop that process, choose another directory with ' +
        'FAREGATE_DATA_DIR, or use PostgreSQL with DATABASE_URL.',
    );
    this.owner = owner;
  }
}

export class NoLockError extends ForeseenError {
  constructor(dataDir: string, cause: unknown) {
    super(
      `The data directory ${dataDir} cannot be locked (${cause instanceof Error ? cause.message : String(cause)}). It must be ` +
        'on a local disk that this process can write to. Choose another one with FAREGATE_DATA_DIR, or use PostgreSQL with ' +
        'DATABASE_URL.',
      { cause },
    );
  }
}

export class NoDatabaseError extends ForeseenError {
  constructor(dataDir: string) {
    super(
      `There is no database in ${dataDir}. Create one with "faregate db migrate", or start the gateway, which creates it: ` +
        'faregate serve',
    );
  }
}

const OWNER_FILE = 'gateway.json';
const LOCK_FILE = 'gateway.lock';
const PATIENCE_MS = 10_000;
const POLL_MS = 100;

/** @throws NoLockError. @throws DataDirInUseError if the directory does not become free in time, or a gateway runs on it. */
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
        `Waiting up to ${patienceMs / 1000} seconds for ${describeOwner(owner)} to release the data directory ${dataDir}.`,
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

/** Adds the addresses of the gateway and its local server to `gateway.json`. The caller must hold the lock. */
export function announceGateway(dataDir: string, gateway: Announced): void {
  writeOwnerFile(dataDir, gateway);
}

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

/** Replaces the file by renaming, so that no process reads a part of it. It needs no sync: after a power cut, no gateway runs. */
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
