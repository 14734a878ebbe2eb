import type { PlacedLanes } from '../../src/accounting/partitions/placed-lanes.ts';
import { createRoutes } from '../../src/accounting/partitions/routes.ts';
import type { Database, Lane } from '../../src/db/database.ts';
import type { DirectoryLane, PartitionLane } from '../../src/db/home-lanes.ts';

export interface HomeLanes {
  readonly directory: DirectoryLane;
  readonly partition: PartitionLane;
}

/** Both homes in one database, whose only partition is the first one. */
export const inOneDatabase = <Both extends Lane | Pick<Database, 'openTables'>>(
  both: Both,
): { readonly directory: Both; readonly partition: Both; readonly partitions: readonly [Both] } => ({
  directory: both,
  partition: both,
  partitions: [both],
});

/** What there is if all accounts are in one partition. */
export const placedInOne = ({ directory, partition }: HomeLanes): PlacedLanes => ({
  directory,
  partitions: createRoutes([partition], { find: () => 0 }),
});
