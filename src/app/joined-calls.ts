import type { Routes } from '../accounting/partitions/routes.ts';
import type { PartitionAccounting } from './partition-accounting.ts';

/** What calls need of all partitions. */
export function joinCalls({ all }: Routes<PartitionAccounting>) {
  const { questions, continuationKeys, storedResponses, reservations, databaseSettlement, ...rest } = all[0]!;
  const { resolveDeadCalls, callsUnresolved } = rest;
  return {
    questions,
    continuationKeys,
    storedResponses,
    reservations,
    databaseSettlement,
    resolveDeadCalls,
    callsUnresolved,
  };
}
