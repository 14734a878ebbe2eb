import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';

/** A PostgreSQL server from a directory of programs, on a free loopback port, without authentication. */
export interface LocalServer {
  readonly name: string;
  readonly port: number;
  /** Kills it, as a power failure would. Committed data survives. */
  kill(): Promise<void>;
  /** Starts it again, after `kill`. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

const READY = 'ready to accept connections';
const LINES_MAX = 40;

/** PostgreSQL refuses to run as root. */
interface User {
  readonly uid?: number;
  readonly gid?: number;
}

/**
 * Creates the files of a server in `directory` and starts it.
 *
 * @param bin the directory of `initdb` and `postgres`
 * @param settings command-line settings, such as `wal_level=logical`
 */
export async function startLocalServer(
  name: string,
  bin: string,
  directory: string,
  settings: readonly string[],
): Promise<LocalServer> {
  const user = userOfServers();
  const dataDir = join(directory, name);
  mkdirSync(dataDir, { mode: 0o700 });
  if (user.uid !== undefined) chownSync(dataDir, user.uid, user.gid!);
  const made = spawnSync(
    programIn(bin, 'initdb'),
    ['-D', dataDir, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'],
    { ...user, encoding: 'utf8', cwd: '/' },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`);
  const port = await freePort();
  const flags = [`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${dataDir}`, ...settings];
  const lines: string[] = [];
  let running: ChildProcess | null = null;

  async function start(): Promise<void> {
    const child = spawn(programIn(bin, 'postgres'), ['-D', dataDir, ...flags.flatMap((flag) => ['-c', flag])], {
      ...user,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    running = child;
    await new Promise<void>((resolve, reject) => {
      child.stderr!.setEncoding('utf8').on('data', (text: string) => {
        lines.push(...text.trimEnd().split('\n'));
        lines.splice(0, lines.length - LINES_MAX);
        if (text.includes(READY)) resolve();
      });
      child.on('error', reject);
      child.on('exit', () => reject(new Error(`${name} did not start:\n${lines.join('\n')}`)));
    });
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const child = running;
    running = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  process.on('exit', () => running?.kill('SIGQUIT'));
  await start();
  return { name, port, start, kill: () => end('SIGQUIT'), stop: () => end('SIGINT') };
}

function programIn(bin: string, name: string): string {
  const path = join(bin, name);
  if (existsSync(path)) return path;
  throw new Error(
    `There is no ${name} in ${bin}. --pg is a directory of PostgreSQL's programs, such as pg_config --bindir says.`,
  );
}

function userOfServers(): User {
  if (process.getuid?.() !== 0) return {};
  try {
    const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'], { stdio: 'pipe' })));
    return { uid: uid!, gid: gid! };
  } catch (error) {
    throw new Error('PostgreSQL does not run as root, and there is no user "postgres" for it.', { cause: error });
  }
}
