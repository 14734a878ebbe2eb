import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Databases } from '../../src/db/databases.ts';
import { readRecord, recordFile } from '../../src/db/local/cluster.ts';
import { startLocalServer } from '../../src/db/local/local-server.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { requireVariable } from './variables.ts';

/**
 * Creates the local database that `placeLocal` copies. Clusters created as root are placed in `directory`, so that they are removed with
 * it.
 */
export async function makeLocalTemplate(
  directory: string,
  prepare: (database: Databases['directory']) => Promise<void>,
): Promise<void> {
  const options = { dataDir: join(directory, 'local'), clustersDir: join(directory, 'clusters'), binaries: null };
  mkdirSync(options.dataDir, { mode: 0o700 });
  const server = await startLocalServer({ ...options, logger: silentLogger, settings: { fsync: 'off' } });
  const database = openPostgres({ url: server.url, logger: silentLogger });
  await prepare(database);
  await database.close();
  await server.stop();
  process.env.FAREGATE_TEST_LOCAL_TEMPLATE = directory;
}

/** Puts an empty, migrated local database into a new data directory, which saves a starting program from creating one. */
export function placeLocal(dataDir: string): void {
  if (existsSync(recordFile(dataDir))) return;
  const directory = requireVariable('FAREGATE_TEST_LOCAL_TEMPLATE');
  const template = join(directory, 'local');
  const record = readRecord(template)!;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const home = record.home === null ? null : join(directory, 'clusters', randomBytes(6).toString('hex'));
  // Keeps the owners of the files that root created.
  execFileSync('cp', ['-a', record.home ?? join(template, 'postgres'), home ?? join(dataDir, 'postgres')]);
  writeFileSync(recordFile(dataDir), JSON.stringify({ ...record, home }), { mode: 0o600 });
}

/** Removes a directory with the data directories in it, and files of their local servers elsewhere that root created. */
export function removeDirectory(path: string): void {
  for (const file of globSync('{,*/,*/*/}postgres.json', { cwd: path, exclude: ['**/node_modules'] })) {
    const { home } = readRecord(dirname(join(path, file)))!;
    if (home !== null) rmSync(home, { recursive: true, force: true });
  }
  // A killed program may exit later than this.
  rmSync(path, { recursive: true, force: true, maxRetries: 3 });
}
