import { createTestDatabase, type TestDatabase } from './database.ts';
import { openPartitioned, type PartitionedDatabase } from './opened-partitions.ts';

export async function createPartitioned(partitions: number): Promise<PartitionedDatabase> {
  return partition(await createTestDatabase(), partitions);
}

/** Creates partitions in an open database and closes it. */
export async function partition(stored: TestDatabase, partitions: number): Promise<PartitionedDatabase> {
  const location = { url: stored.url, dataDir: '' };
  await stored.database.close();
  return openPartitioned(location, partitions, () => stored.remove());
}
