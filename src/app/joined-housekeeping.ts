import type { Routes } from '../accounting/partitions/routes.ts';
import type { PartitionAccounting } from './partition-accounting.ts';

/** What runs in the background of all partitions. */
export function joinHousekeeping({
  all,
}: Routes<PartitionAccounting>): Pick<PartitionAccounting, 'housekeeping' | 'keyUses' | 'rollups'> {
  const { housekeeping, keyUses, rollups } = all[0]!;
  return { housekeeping, keyUses, rollups };
}
