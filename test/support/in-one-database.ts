import type { PlacedPools } from '../../src/accounting/partitions/placed-pools.ts';
import { createRoutes } from '../../src/accounting/partitions/routes.ts';
import type { Database, DatabasePool } from '../../src/db/database.ts';
import type { DirectoryPool, PartitionPool } from '../../src/db/home-pools.ts';

export interface HomePools {
  readonly directory: DirectoryPool;
  readonly partition: PartitionPool;
}

/** Both homes in one database, whose only partition is the first one. */
export const inOneDatabase = <Both extends DatabasePool | Pick<Database, 'openTables'>>(
  both: Both,
): { readonly directory: Both; readonly partition: Both; readonly partitions: readonly [Both] } => ({
  directory: both,
  partition: both,
  partitions: [both],
});

/** Accounts that are all in a single partition. */
export const placedInOne = ({ directory, partition }: HomePools): PlacedPools => ({
  directory,
  partitions: createRoutes([partition], { find: () => 0 }),
});
