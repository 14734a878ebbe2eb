import { createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import { openDatabases } from '../../src/db/databases.ts';
import { addPartition, migrateAll } from '../../src/db/partitions.ts';
import { silentLogger } from '../../src/lib/logger.ts';

/** Creates four partitions, with the months that a gateway prepares, in a database with at most one. */
export async function divide(url: string): Promise<void> {
  const databases = await openDatabases({ url, dataDir: '' }, silentLogger);
  await migrateAll(databases);
  while (databases.partitions.length < 4) await addPartition(databases);
  for (const partition of databases.partitions) await createCallsStore(partition).prepareMonths(new Date());
  await databases.close();
}
