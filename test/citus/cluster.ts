import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClusterPorts, rowsOf } from './databases.ts';
import { type LocalServer, startLocalServer } from './server.ts';

/** A coordinator and two workers with Citus, on loopback. */
export interface CitusCluster {
  readonly workers: readonly LocalServer[];
  readonly ports: ClusterPorts;
  /** Versions of PostgreSQL and Citus. */
  readonly versions: string;
  /** Stops the servers and removes their files. */
  stop(): Promise<void>;
}

const SETTINGS = [
  'shared_preload_libraries=citus',
  // Suites open connections of several gateways, each with its own at a worker.
  'max_connections=1000',
  // For transactions that change several workers, such as migrations.
  'max_prepared_transactions=300',
  // For schemas that move during writes.
  'wal_level=logical',
  'citus.node_conninfo=sslmode=disable',
  // Transactions that request it wait for a missing standby, so that a test can hold them between both phases of a commit.
  'synchronous_standby_names=nobody',
  'synchronous_commit=local',
];

/**
 * Starts a cluster in a temporary directory.
 *
 * @param bin the programs of a PostgreSQL with Citus
 * @throws if they are missing, or lack Citus
 */
export async function startCluster(bin: string): Promise<CitusCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'faregate-citus-'));
  // The user of the servers needs to traverse the directory.
  chmodSync(directory, 0o755);
  const remove = (): void => rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
  process.on('exit', remove);
  const servers: LocalServer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
    remove();
    process.off('exit', remove);
  };
  try {
    for (const name of ['coordinator', 'worker-1', 'worker-2'])
      servers.push(await startLocalServer(name, bin, directory, SETTINGS));
    const [coordinator, ...workers] = servers;
    const ports = { coordinator: coordinator!.port, workers: workers.map(({ port }) => port) };
    return { workers, ports, versions: await versionsOf(ports), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function versionsOf({ coordinator }: ClusterPorts): Promise<string> {
  const [row] = await rowsOf<{ versions: string }>(
    coordinator,
    'postgres',
    `select format('PostgreSQL %s, Citus %s', current_setting('server_version'), default_version) as versions
from pg_available_extensions where name = 'citus'`,
  );
  return row!.versions;
}
