import { createTestDatabase, type Engine, type TestDatabase } from './database.ts';
import { openPartitioned, type PartitionedDatabase } from './opened-partitions.ts';

export async function createPartitioned(engine: Engine, partitions: number): Promise<PartitionedDatabase> {
  return partition(await createTestDatabase(engine), partitions);
}

/** Makes partitions in an open database, which it closes. */
export async function partition(stored: TestDatabase, partitions: number): Promise<PartitionedDatabase> {
  const location = { url: stored.url, dataDir: stored.dataDir };
  await stored.database.close();
  return openPartitioned(location, partitions, () => stored.remove());
}
