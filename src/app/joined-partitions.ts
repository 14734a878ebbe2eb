import type { Routes } from '../accounting/partitions/routes.ts';
import { joinAdmin } from './joined-admin.ts';
import { joinCalls } from './joined-calls.ts';
import { joinHousekeeping } from './joined-housekeeping.ts';
import type { PartitionAccounting } from './partition-accounting.ts';

/** What the housekeeping does in each of them has no joined form (`housekeeping.ts`). */
type JoinedAccounting = Omit<PartitionAccounting, 'questions' | 'housekeeping'> &
  Pick<ReturnType<typeof joinCalls>, 'questions'>;

/**
 * The accounting of all partitions as one: what is about an account goes to its partition, and what is about all of them to each. With one
 * partition it is that of this one, and costs nothing.
 */
export function joinPartitions(routes: Routes<PartitionAccounting>): JoinedAccounting {
  if (routes.all.length === 1) return routes.all[0]!;
  return { ...joinCalls(routes), ...joinAdmin(routes), ...joinHousekeeping(routes) };
}
