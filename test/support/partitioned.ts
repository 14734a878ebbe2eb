import { rmSync } from 'node:fs';
import { createTestDatabase, type Engine, placeEmbedded, type TestDatabase } from './database.ts';
import { placeKept } from './embedded-template.ts';
import { makeFastDirectory } from './fast-directory.ts';
import { openPartitioned, type PartitionedDatabase } from './opened-partitions.ts';

export async function createPartitioned(engine: Engine, partitions: number): Promise<PartitionedDatabase> {
  if (engine === 'embedded') return createEmbedded(partitions);
  return partition(await createTestDatabase(engine), partitions);
}

/** A copy of one that is kept: to make partitions takes the embedded engine several times as long as to open them. */
async function createEmbedded(partitions: number): Promise<PartitionedDatabase> {
  const dataDir = makeFastDirectory('faregate-db-');
  const remove = async (): Promise<void> => rmSync(dataDir, { recursive: true, force: true });
  if (partitions > 1) await placeKept(dataDir, `-of-${partitions}`, makePartitions);
  // Where none is yet; and it has the engine compiled once.
  placeEmbedded(dataDir);
  return openPartitioned({ url: '', dataDir }, partitions, remove);

  async function makePartitions(made: string): Promise<void> {
    placeEmbedded(made);
    const { databases } = await openPartitioned({ url: '', dataDir: made }, partitions, async () => undefined);
    await databases.close();
  }
}

/** Makes partitions in an open database, which it closes. */
export async function partition(stored: TestDatabase, partitions: number): Promise<PartitionedDatabase> {
  const location = { url: stored.url, dataDir: stored.dataDir };
  await stored.database.close();
  return openPartitioned(location, partitions, () => stored.remove());
}
