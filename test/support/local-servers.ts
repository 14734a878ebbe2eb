import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { SUPERUSER } from '../../src/db/local/cluster.ts';
import { type LocalConnection, type LocalServer, startLocalServer } from '../../src/db/local/local-server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { makeFastDirectory } from './fast-directory.ts';

/** Local servers of tests, in their own directory. */
export interface ServerDirectory {
  readonly path: string;
  readonly dataDir: string;
  /** Replaces `/var/lib/faregate` for root. */
  readonly clustersDir: string;
  start(more?: Partial<Parameters<typeof startLocalServer>[0]>): Promise<LocalServer>;
  /** Stops servers that a failed test left running. */
  remove(): Promise<void>;
}

export function makeServerDirectory(): ServerDirectory {
  const path = makeFastDirectory('faregate-local-');
  // The user of a server that root starts needs to traverse the directory.
  chmodSync(path, 0o711);
  const started: LocalServer[] = [];
  const dataDir = join(path, 'data');
  const clustersDir = join(path, 'clusters');
  return {
    path,
    dataDir,
    clustersDir,
    async start(more) {
      const server = await startLocalServer({ dataDir, clustersDir, binaries: null, logger: silentLogger, ...more });
      started.push(server);
      return server;
    },
    async remove() {
      for (const server of started) await server.stop();
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** The directory of the cluster, by its short link if its name is long. */
export const clusterOf = (server: { readonly connection: LocalConnection }): string => server.connection.host;

/** Process id of the server. */
export const serverPid = (cluster: string): number =>
  Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);

export function isRunning(pid: number): boolean {
  try {
    // A zombie counts as stopped.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Runs statements in order on one connection; returns the rows of the last one. */
export async function query(connection: LocalConnection, ...texts: string[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ ...connection });
  // A killed server cuts the connection; the statement then fails for the same reason.
  client.on('error', () => undefined);
  await client.connect();
  try {
    let rows: Record<string, unknown>[] = [];
    for (const text of texts) ({ rows } = await client.query<Record<string, unknown>>(text));
    return rows;
  } finally {
    await client.end();
  }
}

export const asSuperuser = (connection: LocalConnection): LocalConnection => ({ ...connection, user: SUPERUSER });

const source = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

/** The program of `startOwner`. Prints when the server runs and what is committed; exits when its input ends. */
const OWNER = `
import pg from 'pg';
import { startLocalServer } from ${source('db/local/local-server.ts')};
import { silentLogger } from ${source('lib/logger.ts')};
const [dataDir, clustersDir, way] = process.argv.slice(1);
try {
  const { connection } = await startLocalServer({ dataDir, clustersDir, binaries: null, logger: silentLogger, patienceMs: 0 });
  const client = new pg.Client(connection);
  await client.connect();
  await client.query('create table if not exists committed (number int primary key)');
  process.stdin.on('end', () => way === 'exit' ? process.exit() : process.kill(process.pid, 'SIGKILL')).resume();
  console.log('running ' + connection.host);
  for (let number = Number((await client.query('select coalesce(max(number), 0) + 1 as next from committed')).rows[0].next); ; number++) {
    await client.query('insert into committed values ($1)', [number]);
    console.log('committed ' + number);
  }
} catch (error) {
  console.log(error.name + ': ' + error.message);
}`;

/** A process that owns a server and commits rows one by one until it is killed. */
export interface Owner {
  readonly child: ChildProcess;
  /** The first line: `running` and the cluster, or the error. */
  readonly said: string;
  /** The last number that it knows to be committed. */
  readonly committed: () => number;
  /** Resolves when this many rows have been committed since the start. */
  reached(count: number): Promise<void>;
  kill(): Promise<void>;
}

/**
 * @param within a command that runs it, such as `unshare`
 * @param way how it exits, without stopping its server, when its input ends
 */
export async function startOwner(
  { dataDir, clustersDir }: ServerDirectory,
  within: readonly string[] = [],
  way: 'exit' | 'kill' = 'kill',
): Promise<Owner> {
  const [command, ...given] = [
    ...within,
    process.execPath,
    '--input-type=module',
    '--eval',
    OWNER,
    dataDir,
    clustersDir,
    way,
  ];
  const child = spawn(command!, given, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout);
  const waiting = new Set<() => void>();
  let committed = 0;
  let count = 0;
  lines.on('line', (line) => {
    if (!line.startsWith('committed ')) return;
    committed = Number(line.slice('committed '.length));
    count++;
    for (const check of waiting) check();
  });
  const [said = ''] = (await Promise.race([once(lines, 'line'), once(lines, 'close')])) as string[];
  return {
    child,
    said,
    committed: () => committed,
    reached: (wanted) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (count < wanted) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    async kill() {
      const closed = once(lines, 'close');
      child.kill('SIGKILL');
      await closed;
    },
  };
}
