import type { DirectoryPool, PartitionPool } from '../../db/home-pools.ts';
import type { Routes } from './routes.ts';

export interface PlacedPools {
  readonly directory: DirectoryPool;
  readonly partitions: Routes<PartitionPool>;
}
