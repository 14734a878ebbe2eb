import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../lib/logger.ts';
import { LocalServerError, USE_A_SERVER } from './local-server-error.ts';
import { isListening, SOCKET_NAME } from './socket-dir.ts';

/**
 * This file cleans up after a killed gateway whose server may still run. The caller has the lock of the data directory, so no gateway needs
 * that server. It is not reused, because its program, settings or user may be outdated.
 */

interface Process {
  readonly pid: number;
  readonly parent: number;
}

const POLL_MS = 20;
/** Signals that stop a server, each with its delay in milliseconds after the first one. */
const SIGNALS: readonly (readonly [number, NodeJS.Signals])[] = [
  // SIGINT: a fast shutdown with a checkpoint.
  [0, 'SIGINT'],
  // SIGQUIT: an immediate shutdown. The next start recovers from the WAL.
  [10_000, 'SIGQUIT'],
  [15_000, 'SIGKILL'],
];
const PATIENCE_MS = 20_000;

/** Stops servers that are left, and removes files that would block the next one. @throws LocalServerError if this is impossible */
export async function stopLeftovers(cluster: string, socketDir: string, logger: Logger): Promise<void> {
  const signals = [...SIGNALS];
  let left = processesOf(cluster);
  if (left.length > 0)
    logger.warn({ cluster, pids: left.map(({ pid }) => pid) }, 'stopping the database server of a killed gateway');
  for (let waitedMs = 0; left.length > 0; waitedMs += POLL_MS) {
    if (waitedMs >= PATIENCE_MS) throw cannotStop(cluster, left);
    const [next] = signals;
    if (next !== undefined && waitedMs >= next[0]) {
      signals.shift();
      for (const { pid } of firstOf(left)) signal(pid, next[1]);
    }
    await sleep(POLL_MS);
    left = processesOf(cluster);
  }
  if (await isListening(socketDir)) {
    throw new LocalServerError(
      `A PostgreSQL server that this process cannot see, such as one in another container, still serves ${cluster}`,
      `Stop it, or the container that it runs in; or ${USE_A_SERVER}.`,
    );
  }
  for (const name of [SOCKET_NAME, `${SOCKET_NAME}.lock`]) rmSync(join(cluster, name), { force: true });
  removeStalePid(join(cluster, 'postmaster.pid'));
}

/** Returns the postmaster; if it is gone, the processes that it started. */
function firstOf(left: readonly Process[]): Process[] {
  const pids = new Set(left.map(({ pid }) => pid));
  return left.filter(({ parent }) => !pids.has(parent));
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Removes `postmaster.pid` if any process has its pid, because PostgreSQL would take that process for a server. In containers, another
 * program often has this pid. Otherwise the file stays: with it, PostgreSQL finds shared memory of processes that outlived the server.
 */
function removeStalePid(file: string): void {
  try {
    // The file can be empty after a power cut. In single-user mode the pid is negative.
    process.kill(Math.abs(Number.parseInt(readFileSync(file, 'utf8'), 10)) || 0, 0);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return;
    if (code !== 'EPERM') throw error;
  }
  rmSync(file, { force: true });
}

function cannotStop(cluster: string, left: readonly Process[]): LocalServerError {
  const pids = left.map(({ pid }) => pid).join(', ');
  return new LocalServerError(
    `The PostgreSQL server that a killed gateway left running in ${cluster} does not stop (processes ${pids})`,
    'Kill these processes and start the gateway again.',
  );
}

/** Finds the visible PostgreSQL processes whose working directory is the cluster. */
function processesOf(cluster: string): Process[] {
  if (process.platform !== 'linux') return listedProcesses(cluster);
  // Compares inodes, because paths differ in other containers.
  const { dev, ino } = statSync(cluster);
  const found: Process[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const directory = statSync(`/proc/${name}/cwd`);
      if (directory.ino !== ino || directory.dev !== dev) continue;
      // The file begins with `pid (command) state parent …`.
      const [, parent] = /^\d+ \(postgres\) \S (\d+) /.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
      if (parent !== undefined) found.push({ pid: Number(name), parent: Number(parent) });
    } catch {
      // The process has ended meanwhile, or belongs to another user.
    }
  }
  return found;
}

/** Finds the postmaster by its command line, on systems that do not list working directories. */
function listedProcesses(cluster: string): Process[] {
  const lines = execFileSync('ps', ['-axo', 'pid=,ppid=,command='], { encoding: 'utf8' }).split('\n');
  return lines
    .filter((line) => line.includes(`postgres -D ${cluster} `))
    .map((line) => line.trim().split(/\s+/, 2).map(Number))
    .map(([pid, parent]) => ({ pid: pid!, parent: parent! }));
}
