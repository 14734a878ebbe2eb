import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgresServer } from '../test/support/postgres-server.ts';
import { createDatabase } from './create-database.ts';
import type { LoadOrder, LoadResult } from './load/order.ts';
import { NEXT_TRANSACTION } from './next-transaction.ts';
import { benchFile, endByDisconnect, nextMessage, OTHER_CORES, pinSelf, spawnOnCore } from './processes.ts';

/** What all targets of a run share: the load with its provider, and a PostgreSQL server. */
export interface Stage {
  readonly providerUrl: string;
  /** Removed at the end. */
  readonly directory: string;
  /** Flags for Node of the targets that are programs of Node. */
  readonly flags: readonly string[];
  load(order: LoadOrder): Promise<LoadResult>;
  /** A new, empty database. */
  createDatabase(): Promise<string>;
  /** Transactions are numbered for all databases of a server; those of other targets are idle meanwhile. */
  nextTransaction(): Promise<number>;
  /** A name of a directory or database that none has had. */
  uniqueName(): string;
  stop(): Promise<void>;
}

/** Starts what targets need; the provider listens at the port, or at any if that is 0. */
export async function startStage(providerPort: number, flags: readonly string[]): Promise<Stage> {
  pinSelf();
  const load: ChildProcess = spawnOnCore([benchFile('load/load.ts'), String(providerPort)], OTHER_CORES);
  const { url: providerUrl } = await nextMessage<{ url: string }>(load);
  const directory = mkdtempSync(join(tmpdir(), 'faregate-bench-'));
  const postgres = await startPostgresServer(directory);
  const administration = new pg.Client({ connectionString: `${postgres.url}/postgres` });
  await administration.connect();
  let names = 0;
  const uniqueName = (): string => `bench_${++names}`;
  return {
    providerUrl,
    directory,
    flags,
    uniqueName,
    load(order) {
      load.send(order);
      return nextMessage(load);
    },
    createDatabase: () => createDatabase(postgres.url, uniqueName()),
    async nextTransaction() {
      const { rows } = await administration.query<{ next: number }>(NEXT_TRANSACTION);
      return rows[0]!.next;
    },
    async stop() {
      await endByDisconnect(load);
      await administration.end();
      await postgres.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
