import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../lib/logger.ts';
import { LocalServerError, USE_A_SERVER } from './local-server-error.ts';
import { isListening, SOCKET_NAME } from './socket-dir.ts';

/**
 * What a gateway that was killed has left: its server, which still runs, or files that name one. Who calls this has the lock
 * of the data directory, so no gateway needs that server. It is stopped and not adopted: its program, settings or user may
 * be older than this gateway.
 */

interface Process {
  readonly pid: number;
  readonly parent: number;
}

const POLL_MS = 20;
/** Each signal, and how long after the first one. */
const SIGNALS: readonly (readonly [number, NodeJS.Signals])[] = [
  // A fast shutdown, which writes a checkpoint.
  [0, 'SIGINT'],
  // An immediate one; the next start recovers.
  [10_000, 'SIGQUIT'],
  [15_000, 'SIGKILL'],
];
const PATIENCE_MS = 20_000;

/**
 * Ends the processes of PostgreSQL that serve a cluster, and removes the files that would keep the next server from starting.
 *
 * @throws LocalServerError if one serves it that this process cannot see or end.
 */
export async function stopLeftovers(cluster: string, socketDir: string, logger: Logger): Promise<void> {
  const signals = [...SIGNALS];
  let left = processesOf(cluster);
  if (left.length > 0)
    logger.warn({ cluster, pids: left.map(({ pid }) => pid) }, 'stopping the server of a gateway that was killed');
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

/** The server itself; if only processes of it are left, all of them. */
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
 * PostgreSQL takes the process of this number for a server, also if another one has the number now, which is the rule in
 * containers. Otherwise the file stays: it names the memory by which PostgreSQL finds processes that outlived their server.
 */
function removeStalePid(file: string): void {
  try {
    // A file that a power cut emptied names none; that of a single user has a minus.
    process.kill(Math.abs(Number.parseInt(readFileSync(file, 'utf8'), 10)) || 0, 0);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // There is no file, or no process of the number.
    if (code === 'ENOENT' || code === 'ESRCH') return;
    if (code !== 'EPERM') throw error;
  }
  rmSync(file, { force: true });
}

function cannotStop(cluster: string, left: readonly Process[]): LocalServerError {
  const pids = left.map(({ pid }) => pid).join(', ');
  return new LocalServerError(
    `The PostgreSQL server that a killed gateway left running in ${cluster} does not end (processes ${pids})`,
    'End these processes, and start the gateway again.',
  );
}

/** The processes of PostgreSQL that this process can see and whose working directory is the cluster: a server has no other. */
function processesOf(cluster: string): Process[] {
  if (process.platform !== 'linux') return listedProcesses(cluster);
  // Not by name, which another container has another one for.
  const { dev, ino } = statSync(cluster);
  const found: Process[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const directory = statSync(`/proc/${name}/cwd`);
      if (directory.ino !== ino || directory.dev !== dev) continue;
      // `pid (command) state parent …`
      const [, parent] = /^\d+ \(postgres\) \S (\d+) /.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
      if (parent !== undefined) found.push({ pid: Number(name), parent: Number(parent) });
    } catch {
      // It has ended, or belongs to another user.
    }
  }
  return found;
}

/** By command line, where the system has no list of working directories: the server alone. */
function listedProcesses(cluster: string): Process[] {
  const lines = execFileSync('ps', ['-axo', 'pid=,ppid=,command='], { encoding: 'utf8' }).split('\n');
  return lines
    .filter((line) => line.includes(`postgres -D ${cluster} `))
    .map((line) => line.trim().split(/\s+/, 2).map(Number))
    .map(([pid, parent]) => ({ pid: pid!, parent: parent! }));
}
