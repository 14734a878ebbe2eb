import { randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '../../config/schema.ts';
import { NETWORK_RISK, networkFileSystem } from '../../db/network-file-system.ts';
import { obstacleOf } from '../../db/private-directory.ts';
import { programVersion } from '../../lib/version.ts';
import { errorText, type Finding, failed, ok, warning } from './doctor-finding.ts';

const NODE_MAJOR_MIN = 24;
const DISK_FREE_WARN_BYTES = 2 ** 30;
const DISK_FREE_MIN_BYTES = 100 * 2 ** 20;
/** Open files other than client connections: connections to providers and the database, logs. */
const OTHER_FILES = 4_096;

export function checkVersions(): Finding {
  const versions = `faregate ${programVersion()}, Node ${process.versions.node}`;
  if (Number.parseInt(process.versions.node, 10) >= NODE_MAJOR_MIN) return ok('versions', versions);
  const advice = `Use the Node that npm ci installs, or another one of version ${NODE_MAJOR_MIN} or later.`;
  return failed('versions', versions, advice);
}

/** Checks the directory of the local database, the journal and uploads. */
export function checkDataDirectory({ dataDir }: Config['database']): Finding[] {
  const path = resolve(dataDir);
  const existing = nearestExisting(path);
  const obstacle = obstacleOf(path);
  if (obstacle !== null) {
    const advice = 'Create what is missing, or choose another directory with FAREGATE_DATA_DIR.';
    return [failed('data directory', `${path} cannot be created: ${obstacle}`, advice)];
  }
  try {
    accessSync(existing, constants.W_OK | constants.X_OK);
    if (existing === path) writeDurably(path);
  } catch (error) {
    const advice = 'Give the user of the gateway write access, or choose another directory with FAREGATE_DATA_DIR.';
    return [failed('data directory', `${path} cannot be written: ${errorText(error)}`, advice)];
  }
  const isNew = existing !== path;
  return [checkRights(path, isNew), checkFileSystem(existing), checkDisk(existing)];
}

function checkRights(path: string, isNew: boolean): Finding {
  if (isNew) return ok('data directory', `${path} is created at the first start`);
  const mode = statSync(path).mode & 0o777;
  if (process.platform === 'win32' || (mode & 0o077) === 0)
    return ok('data directory', `${path}, accessible to its owner only`);
  const detail = `${path} is accessible to other users (mode ${mode.toString(8)})`;
  return warning('data directory', detail, `The gateway corrects this when it starts; or run: chmod go= ${path}`);
}

function checkFileSystem(path: string): Finding {
  const name = networkFileSystem(path);
  if (name === null) return ok('file system', 'not a known network file system');
  const detail = `the data directory is on ${name}: ${NETWORK_RISK}`;
  return warning('file system', detail, 'Choose a directory on a local disk.');
}

function checkDisk(path: string): Finding {
  const { bavail, bsize } = statfsSync(path);
  const freeBytes = bavail * bsize;
  const detail = `${(freeBytes / 2 ** 30).toFixed(1)} GiB are free for the data directory`;
  if (freeBytes >= DISK_FREE_WARN_BYTES) return ok('disk', detail);
  const advice = 'Free some space: on a full disk new calls are refused, because their charges could not be stored.';
  return freeBytes < DISK_FREE_MIN_BYTES ? failed('disk', detail, advice) : warning('disk', detail, advice);
}

function nearestExisting(path: string): string {
  try {
    if (statSync(path).isDirectory()) return path;
  } catch {
    // The directory does not exist, or cannot be read.
  }
  const parent = dirname(path);
  return parent === path ? path : nearestExisting(parent);
}

/** Writes and syncs a file, as the journal does. */
function writeDurably(directory: string): void {
  const path = join(directory, `doctor-${randomBytes(8).toString('hex')}.tmp`);
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, 'faregate doctor');
    fsyncSync(file);
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

/** Checks the limit of open files. Returns nothing if it cannot be read. */
export function checkOpenFiles({ connections }: Config['server']): Finding[] {
  const limit = openFilesLimit();
  if (limit === null) return [];
  const needed = connections + OTHER_FILES;
  const detail = `${limit} files can be open; server.connections uses up to ${connections}`;
  if (limit >= needed) return [ok('open files', detail)];
  const advice = `Raise the limit for the gateway (ulimit -n ${needed}), or lower server.connections.`;
  return [warning('open files', detail, advice)];
}

function openFilesLimit(): number | null {
  try {
    const soft = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
    if (soft === undefined) return null;
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return null;
  }
}

export async function checkAddress({ host, port }: Pick<Config['server'], 'host' | 'port'>): Promise<Finding> {
  const address = `${host}:${port}`;
  if (port === 0) return ok('address', `${host}, on any free port`);
  const failure = await tryToListen(host, port);
  if (failure === null) return ok('address', `${address} is free`);
  if (failure.code !== 'EADDRINUSE') {
    return failed(
      'address',
      `${address} cannot be used: ${errorText(failure)}`,
      'Choose another address with HOST and PORT.',
    );
  }
  if (await isGateway(host, port)) return ok('address', `a gateway listens on ${address}`);
  const advice = 'Stop the program that listens there, or choose another port with PORT.';
  return failed('address', `${address} is taken by another program`, advice);
}

export async function checkMetricsAddress({ host, port, metrics }: Config['server']): Promise<Finding[]> {
  if (metrics === undefined) return [];
  const check = 'metrics address';
  if (metrics.port !== 0 && metrics.port === port && metrics.host === host) {
    const detail = `${host}:${port} is the address of the gateway itself`;
    return [failed(check, detail, 'Choose another one with server.metrics, or leave it out.')];
  }
  const found = await checkAddress(metrics);
  const advice = 'Stop the program that listens there, or choose another address with server.metrics.';
  return [found.state === 'failed' ? failed(check, found.detail, advice) : ok(check, found.detail)];
}

function tryToListen(host: string, port: number): Promise<NodeJS.ErrnoException | null> {
  return new Promise((done) => {
    const server = createServer();
    server.once('error', (error) => done(error));
    server.listen(port, host, () => server.close(() => done(null)));
  });
}

async function isGateway(host: string, port: number): Promise<boolean> {
  // If a gateway listens on all addresses, it is tested by the loopback address.
  const name = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host;
  const url = `http://${name.includes(':') ? `[${name}]` : name}:${port}/`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    return ((await response.json()) as { name?: unknown } | null)?.name === 'faregate';
  } catch {
    return false;
  }
}
