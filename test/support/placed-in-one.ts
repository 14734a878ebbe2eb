import type { PlacedLanes } from '../../src/accounting/partitions/placed-lanes.ts';
import { createRoutes } from '../../src/accounting/partitions/routes.ts';
import type { HomeLanes } from '../../src/db/home-lanes.ts';

/** What there is if all accounts are in one partition. */
export const placedInOne = ({ directory, partition }: HomeLanes): PlacedLanes => ({
  directory,
  partitions: createRoutes([partition], { find: () => 0 }),
});
