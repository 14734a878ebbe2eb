import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * One process owns a data directory. `gateway.json` in it names the owner; the command line reads from it where the
 * running gateway listens. A file left by a process that is gone is taken over.
 */
export interface DataDirOwner {
  readonly pid: number;
  /** When that process started, as the system counts it: a later process may get the same pid. */
  readonly processStart: string | null;
  /** Where the gateway listens, and the credential for this machine's command line; set once it listens. */
  readonly url?: string;
  readonly adminToken?: string;
}

export interface DataDirLock {
  release(): void;
}

/** Another process has the directory open. */
export class DataDirInUseError extends Error {
  readonly owner: DataDirOwner;
  constructor(dataDir: string, owner: DataDirOwner) {
    super(
      `The data directory ${dataDir} is in use by process ${owner.pid}${owner.url ? ` (listening on ${owner.url})` : ''}. ` +
        'The embedded database has one owner at a time: stop that process, choose another directory with ' +
        'FAREGATE_DATA_DIR, or use PostgreSQL with DATABASE_URL.',
    );
    this.name = 'DataDirInUseError';
    this.owner = owner;
  }
}

const OWNER_FILE = 'gateway.json';

/** @throws DataDirInUseError */
export function acquireDataDir(dataDir: string): DataDirLock {
  const file = join(dataDir, OWNER_FILE);
  const self: DataDirOwner = { pid: process.pid, processStart: processStart(process.pid) };
  for (let attempt = 0; ; attempt++) {
    try {
      const handle = openSync(file, 'wx', 0o600);
      writeFileSync(handle, JSON.stringify(self));
      closeSync(handle);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt === 3) throw error;
      const owner = readDataDirOwner(dataDir);
      if (owner !== null) throw new DataDirInUseError(dataDir, owner);
      rmSync(file, { force: true });
    }
  }
  return { release: () => rmSync(file, { force: true }) };
}

/** Adds to the owner file where the gateway listens. Only the owner calls this. */
export function announceGateway(dataDir: string, url: string, adminToken: string): void {
  const file = join(dataDir, OWNER_FILE);
  const owner: DataDirOwner = { pid: process.pid, processStart: processStart(process.pid), url, adminToken };
  writeFileSync(`${file}.new`, JSON.stringify(owner), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** The living process that owns the directory, or `null`. */
export function readDataDirOwner(dataDir: string): DataDirOwner | null {
  let owner: DataDirOwner;
  try {
    owner = JSON.parse(readFileSync(join(dataDir, OWNER_FILE), 'utf8')) as DataDirOwner;
  } catch {
    return null;
  }
  if (!Number.isInteger(owner.pid) || !isAlive(owner.pid)) return null;
  const start = processStart(owner.pid);
  return owner.processStart !== null && start !== null && start !== owner.processStart ? null : owner;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Field 22 of /proc/<pid>/stat: start time in clock ticks since boot. `null` where there is no /proc. */
function processStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
