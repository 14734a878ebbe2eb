import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { openPartitioned, type PartitionedDatabase } from '../support/opened-partitions.ts';

/** The loopback ports of a cluster's servers. */
export interface ClusterPorts {
  readonly coordinator: number;
  readonly workers: readonly number[];
}

export interface ClusterDatabase extends AsyncDisposable {
  readonly name: string;
  /** The URL at the coordinator. */
  readonly url: string;
  remove(): Promise<void>;
}

/** Creates an empty database with the extension on all nodes, and registers the workers. */
export async function createCitusDatabase(ports: ClusterPorts): Promise<ClusterDatabase> {
  const { coordinator, workers } = ports;
  const made = await createOn([coordinator, ...workers]);
  for (const port of [coordinator, ...workers]) await rowsOf(port, made.name, 'create extension citus');
  await rowsOf(coordinator, made.name, `select citus_set_coordinator_host('127.0.0.1', ${coordinator})`);
  for (const port of workers) await rowsOf(coordinator, made.name, `select citus_add_node('127.0.0.1', ${port})`);
  return made;
}

/** Creates an empty database on the coordinator without the extension: plain PostgreSQL on the same machine. */
export const createPlainDatabase = ({ coordinator }: ClusterPorts): Promise<ClusterDatabase> => createOn([coordinator]);

async function createOn(ports: readonly number[]): Promise<ClusterDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  for (const port of ports) await rowsOf(port, 'postgres', `create database ${name}`);
  return {
    name,
    url: urlOf(ports[0]!, name),
    async remove() {
      for (const port of ports) await rowsOf(port, 'postgres', `drop database ${name} with (force)`);
    },
    [Symbol.asyncDispose](this: ClusterDatabase) {
      return this.remove();
    },
  };
}

/** A migrated database with several partitions, on the workers if the cluster has Citus. */
export async function withPartitions(
  stored: ClusterDatabase,
  partitions: number,
): Promise<PartitionedDatabase & { readonly name: string }> {
  const opened = await openPartitioned({ url: stored.url, dataDir: '' }, partitions, () => stored.remove());
  return Object.assign(opened, { name: stored.name });
}

const urlOf = (port: number, database: string): string => `postgres://postgres@127.0.0.1:${port}/${database}`;

/** Queries a server on a new connection. */
export async function rowsOf<Row>(port: number, database: string, sql: string): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: urlOf(port, database) });
  await client.connect();
  try {
    const { rows } = await client.query(sql);
    return rows;
  } finally {
    await client.end();
  }
}
