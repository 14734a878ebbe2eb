import type { ChildProcess } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeDirectory } from '../test/support/local-database.ts';
import { startPostgresServer } from '../test/support/postgres-server.ts';
import { createDatabase } from './create-database.ts';
import { type DatabaseReading, watchServer } from './database-server.ts';
import type { LoadOrder, LoadResult } from './load/order.ts';
import { benchFile, endByDisconnect, nextMessage, OTHER_CORES, pinSelf, spawnOnCore } from './processes.ts';

/** What all targets of a run share: the load generator with its provider, and a PostgreSQL server. */
export interface Stage {
  readonly providerUrl: string;
  /** Removed at the end. */
  readonly directory: string;
  /** Node flags for targets that run on Node. */
  readonly flags: readonly string[];
  load(order: LoadOrder): Promise<LoadResult>;
  /** Creates an empty database. */
  createDatabase(): Promise<string>;
  /** Usage of the server with all its databases. Other targets are idle meanwhile. */
  readDatabase(): Promise<DatabaseReading>;
  /** A new name for a directory or database. */
  uniqueName(): string;
  stop(): Promise<void>;
}

/** Starts load generator and server. The provider listens on the port, or on any if it is 0. */
export async function startStage(providerPort: number, flags: readonly string[]): Promise<Stage> {
  pinSelf();
  const load: ChildProcess = spawnOnCore([benchFile('load/load.ts'), String(providerPort)], OTHER_CORES);
  const { url: providerUrl } = await nextMessage<{ url: string }>(load);
  const directory = mkdtempSync(join(tmpdir(), 'faregate-bench-'));
  const postgres = await startPostgresServer(directory);
  const server = (await watchServer(postgres.dataDir))!;
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
    readDatabase: () => server.read(),
    async stop() {
      await endByDisconnect(load);
      await server.close();
      await postgres.stop();
      removeDirectory(directory);
    },
  };
}
