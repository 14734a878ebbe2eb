import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readRecord, SUPERUSER } from '../../src/db/local/cluster.ts';
import { startLocalServer } from '../../src/db/local/local-server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { freePort } from './free-port.ts';

/** A PostgreSQL of tests, on a free port of loopback. */
export interface PostgresServer {
  /** Without a database's name at its end. */
  readonly url: string;
  /** The same through a socket of the file system, over which a message costs both sides half as much. */
  readonly localUrl: string;
  readonly dataDir: string;
  stop(): Promise<void>;
}

/**
 * Where a test lets the network swallow what a new connection says, its backend waits for the password, and meanwhile no
 * database of the server can be dropped: PostgreSQL waits for all backends then, by default for a minute. Shorter than the limits of
 * tests, and longer than a client that computes takes to say it.
 */
const SIGN_IN_S = 15;

/** Starts a server whose files are in `directory`. `settings` are of PostgreSQL. */
export async function startPostgresServer(
  directory: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  // Of root, the server's user must be able to pass through.
  chmodSync(directory, 0o755);
  const dataDir = join(directory, 'server');
  mkdirSync(dataDir, { mode: 0o700 });
  const port = await freePort();
  const server = await startLocalServer({
    dataDir,
    clustersDir: join(directory, 'clusters'),
    binaries: null,
    logger: silentLogger,
    settings: {
      listen_addresses: '127.0.0.1',
      port: String(port),
      max_connections: '300',
      authentication_timeout: String(SIGN_IN_S),
      ...settings,
    },
  });
  const { password } = readRecord(dataDir)!;
  return {
    url: `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}`,
    localUrl: `postgres://${SUPERUSER}:${password}@${encodeURIComponent(server.connection.host)}:${port}`,
    dataDir,
    stop: () => server.stop(),
  };
}
