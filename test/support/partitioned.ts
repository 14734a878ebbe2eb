import { type Databases, openDatabases } from '../../src/db/databases.ts';
import type { DatabaseLocation } from '../../src/db/open.ts';
import { addPartition } from '../../src/db/partitions.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createTestDatabase, type Engine, type TestDatabase } from './database.ts';

/** A migrated database of several partitions, with everything that is in one. */
export interface PartitionedDatabase {
  readonly databases: Databases;
  readonly location: DatabaseLocation;
  /** Closes and opens it, as the next start of a gateway does. */
  reopen(): Promise<Databases>;
  remove(): Promise<void>;
}

export async function createPartitioned(engine: Engine, partitions: number): Promise<PartitionedDatabase> {
  return partition(await createTestDatabase(engine), partitions);
}

/** Makes partitions in an open database, which it closes. */
export async function partition(stored: TestDatabase, partitions: number): Promise<PartitionedDatabase> {
  const location = { url: stored.url, dataDir: stored.dataDir };
  await stored.database.close();
  const open = (): Promise<Databases> => openDatabases(location, silentLogger);
  let databases = await open();
  for (let number = databases.partitions.length; number < partitions; number++) await addPartition(databases);
  return {
    get databases() {
      return databases;
    },
    location,
    async reopen() {
      await databases.close();
      databases = await open();
      return databases;
    },
    async remove() {
      await databases.close();
      await stored.remove();
    },
  };
}
