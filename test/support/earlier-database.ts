import { type Databases, openDatabases } from '../../src/db/databases.ts';
import { migrate } from '../../src/db/migrate.ts';
import { readMigrations } from '../../src/db/migrations.ts';
import { addPartition } from '../../src/db/partitions.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createBareDatabase } from './database.ts';

export interface EarlierDatabase extends AsyncDisposable {
  readonly databases: Databases;
}

/** The last schema version in which changes of the directory and a partition took several transactions. */
const LAST_IN_STEPS = 55;

/** A database of that version with two partitions. */
export async function createEarlierDatabase(): Promise<EarlierDatabase> {
  const stored = await createBareDatabase();
  const migrations = readMigrations().filter(({ version }) => version <= LAST_IN_STEPS);
  await migrate(stored.database, { migrations });
  // Allows this version to add a partition.
  await stored.database.script(`alter table partitions alter column state set default 'ready'`);
  await stored.database.close();
  const databases = await openDatabases({ url: stored.url, dataDir: '' }, silentLogger);
  await addPartition(databases, { migrations });
  return {
    databases,
    async [Symbol.asyncDispose]() {
      await databases.close();
      await stored.remove();
    },
  };
}
