import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readRecord, SUPERUSER } from '../../src/db/local/cluster.ts';
import { startLocalServer } from '../../src/db/local/local-server.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { freePort } from './free-port.ts';

/** A PostgreSQL server for tests, on a free loopback port. */
export interface PostgresServer {
  /** Without the name of a database. */
  readonly url: string;
  /** The same through a Unix socket, where a message costs both sides half as much. */
  readonly localUrl: string;
  readonly dataDir: string;
  stop(): Promise<void>;
  /** Starts it again, at the same address, after `stop`. */
  restart(): Promise<void>;
}

/**
 * `authentication_timeout`. If a test swallows the packets of a new connection, its backend waits for the password. Until then PostgreSQL
 * drops no database, because it waits for all backends: by default for a minute. This is shorter than the limits of tests, and longer
 * than a busy client takes to send the password.
 */
const SIGN_IN_S = 15;

/** Starts a server whose files are in `directory`, with these PostgreSQL settings. */
export async function startPostgresServer(
  directory: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  // As root, another user runs the server and needs to traverse the directory.
  chmodSync(directory, 0o755);
  const dataDir = join(directory, 'server');
  mkdirSync(dataDir, { mode: 0o700 });
  const port = await freePort();
  const options = {
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
  };
  let server = await startLocalServer(options);
  const { password } = readRecord(dataDir)!;
  return {
    url: `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}`,
    localUrl: `postgres://${SUPERUSER}:${password}@${encodeURIComponent(server.connection.host)}:${port}`,
    dataDir,
    stop: () => server.stop(),
    async restart() {
      server = await startLocalServer(options);
    },
  };
}
