import { type DatabaseLocation, type Databases, openDatabases } from '../../src/db/databases.ts';
import { addPartition, migrateAll } from '../../src/db/partitions.ts';
import { silentLogger } from '../../src/lib/logger.ts';

/** A migrated database of several partitions, with its handles. */
export interface PartitionedDatabase extends AsyncDisposable {
  readonly databases: Databases;
  readonly location: DatabaseLocation;
  /** Closes and reopens it, as a restart of the gateway does. */
  reopen(): Promise<Databases>;
  remove(): Promise<void>;
}

/** Applies all migrations, and creates partitions up to the given number. */
export async function openPartitioned(
  location: DatabaseLocation,
  partitions: number,
  remove: () => Promise<void>,
): Promise<PartitionedDatabase> {
  const open = (): Promise<Databases> => openDatabases(location, silentLogger);
  let databases = await open();
  await migrateAll(databases);
  while (databases.partitions.length < partitions) await addPartition(databases);
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
      await remove();
    },
    [Symbol.asyncDispose](this: PartitionedDatabase) {
      return this.remove();
    },
  };
}
