import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * One process owns a data directory. `gateway.json` in it names the owner; the command line reads from it where the running
 * gateway listens. A file of a process that does not run any more is taken over.
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

/** There is no database in the directory. */
export class NoDatabaseError extends Error {
  constructor(dataDir: string) {
    super(
      `There is no database in ${dataDir}; create one with "faregate db migrate", or start the gateway, which creates it: ` +
        'faregate serve',
    );
    this.name = 'NoDatabaseError';
  }
}

const OWNER_FILE = 'gateway.json';

/** @throws DataDirInUseError */
export function acquireDataDir(dataDir: string): DataDirLock {
  const file = join(dataDir, OWNER_FILE);
  const self: DataDirOwner = { pid: process.pid, processStart: processStart(process.pid) };
  // Written under another name and then linked: no process ever sees an incomplete owner file.
  const candidate = `${file}.${process.pid}`;
  writeFileSync(candidate, JSON.stringify(self), { mode: 0o600 });
  try {
    if (!linkUnlessThere(candidate, file)) takeOver(dataDir, candidate, file);
  } finally {
    rmSync(candidate, { force: true });
  }
  let isReleased = false;
  return {
    release() {
      if (!isReleased) rmSync(file, { force: true });
      isReleased = true;
    },
  };
}

/**
 * Replaces the owner file of a process that does not run any more. Of several processes that find it, the one that links
 * the guard goes first, and the others then find its file.
 */
function takeOver(dataDir: string, candidate: string, file: string): void {
  const guard = `${file}.takeover`;
  refuseIfOwned(dataDir, file);
  while (!linkUnlessThere(candidate, guard)) {
    refuseIfOwned(dataDir, guard);
    // The process of the guard died in the middle of this function.
    rmSync(guard, { force: true });
  }
  try {
    refuseIfOwned(dataDir, file);
    renameSync(candidate, file);
  } finally {
    rmSync(guard, { force: true });
  }
}

function refuseIfOwned(dataDir: string, file: string): void {
  const owner = readOwner(file);
  if (owner !== null) throw new DataDirInUseError(dataDir, owner);
}

/** Gives a file another name, unless something has that name already. */
function linkUnlessThere(existing: string, name: string): boolean {
  try {
    linkSync(existing, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
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
  return readOwner(join(dataDir, OWNER_FILE));
}

function readOwner(file: string): DataDirOwner | null {
  let owner: DataDirOwner | null;
  try {
    owner = JSON.parse(readFileSync(file, 'utf8')) as DataDirOwner | null;
  } catch {
    return null;
  }
  if (owner === null || !Number.isInteger(owner.pid) || owner.pid <= 0 || !isAlive(owner.pid)) return null;
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
