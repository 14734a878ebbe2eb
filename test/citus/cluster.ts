import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClusterPorts, rowsOf } from './databases.ts';
import { type LocalServer, startLocalServer } from './server.ts';

/** A coordinator and two workers with Citus, all on loopback. */
export interface CitusCluster {
  readonly workers: readonly LocalServer[];
  readonly ports: ClusterPorts;
  /** Of PostgreSQL and of Citus. */
  readonly versions: string;
  /** Stops the servers and removes their files. */
  stop(): Promise<void>;
}

const SETTINGS = [
  'shared_preload_libraries=citus',
  // Suites open those of several gateways at a time, and each one has one at a worker.
  'max_connections=1000',
  // For transactions that change several workers, such as steps of the schema.
  'max_prepared_transactions=300',
  // For schemas that move while they are written.
  'wal_level=logical',
  'citus.node_conninfo=sslmode=disable',
  // A transaction that asks for more waits for a standby that is not there, so that a test can hold it between its two phases.
  'synchronous_standby_names=nobody',
  'synchronous_commit=local',
];

/**
 * Starts it in a temporary directory.
 *
 * @param bin the programs of a PostgreSQL that has Citus
 * @throws if they are not there, or do not have it
 */
export async function startCluster(bin: string): Promise<CitusCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'faregate-citus-'));
  // The user of the servers must be able to pass through.
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
