import type { DirectoryLane, PartitionLane } from '../../db/home-lanes.ts';
import type { Routes } from './routes.ts';

/** The connection pools of the directory and of each partition. */
export interface PlacedLanes {
  readonly directory: DirectoryLane;
  readonly partitions: Routes<PartitionLane>;
}
