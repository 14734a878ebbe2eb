import type { Routes } from '../accounting/partitions/routes.ts';
import type { PartitionAccounting } from './partition-accounting.ts';

/** What people and keys ask of all partitions, and change in them. */
export function joinAdmin({ all }: Routes<PartitionAccounting>): Pick<PartitionAccounting, 'admin' | 'balances'> {
  const { admin, balances } = all[0]!;
  return { admin, balances };
}
