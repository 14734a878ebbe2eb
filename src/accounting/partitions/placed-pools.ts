import type { DirectoryPool, PartitionPool } from '../../db/home-pools.ts';
import type { Routes } from './routes.ts';

/** The connection pools of the directory and of each partition. */
export interface PlacedPools {
  readonly directory: DirectoryPool;
  readonly partitions: Routes<PartitionPool>;
}
