import type { DirectoryLane, HomeLanes, PartitionLane } from '../../db/home-lanes.ts';
import { createRoutes, type Routes } from './routes.ts';

/** Where statements run that are for the directory, and those that are for the partition of an account or for each of them. */
export interface PlacedLanes {
  readonly directory: DirectoryLane;
  readonly partitions: Routes<PartitionLane>;
}

/** What there is if all accounts are in one partition. */
export const placedInOne = ({ directory, partition }: HomeLanes): PlacedLanes => ({
  directory,
  partitions: createRoutes([partition], { find: () => 0 }),
});
