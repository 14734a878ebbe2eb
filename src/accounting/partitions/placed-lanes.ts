import type { DirectoryLane, PartitionLane } from '../../db/home-lanes.ts';
import type { Routes } from './routes.ts';

/** Where statements run that are for the directory, and those that are for the partition of an account or for each of them. */
export interface PlacedLanes {
  readonly directory: DirectoryLane;
  readonly partitions: Routes<PartitionLane>;
}
