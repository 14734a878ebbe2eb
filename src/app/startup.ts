import type { AddedPartitions } from '../accounting/partitions/added-partitions.ts';
import type { StoredResponses } from '../accounting/repeats/stored-responses.ts';
import type { Reservations } from '../accounting/reservations/reservations.ts';
import type { Settlement } from '../accounting/settlement/settlement.ts';
import type { Nodes } from '../db/nodes/nodes.ts';
import { addedMeanwhile } from '../db/partitions.ts';
import type { Maintenance } from './maintenance.ts';

interface StartUpParts {
  readonly addedPartitions: Pick<AddedPartitions, 'count' | 'opened'>;
  readonly settlement: Settlement;
  readonly reservations: Pick<Reservations, 'drain'>;
  readonly storedResponses: Pick<StoredResponses, 'freeLeftClaims'>;
  readonly nodes: Nodes;
  readonly maintenance: Maintenance;
  /** Resolves the calls of nodes whose last heartbeat is at least that old. */
  readonly resolveDeadCalls: (deadAfterMs: number) => Promise<void>;
  /** Whether no other process can use the database: it is a local one. */
  readonly isOnlyNode: boolean;
  readonly removeOldUploads: () => Promise<unknown>;
}

/**
 * Recovers the work of earlier processes before the first call is taken, in this order: settlement records in their
 * journals, first because the outcome of those calls is known; calls of dead nodes; the housekeeping, whose deletions run on
 * beside the first calls; uploads that an earlier process left on disk.
 *
 * @throws if a step fails; all parts that were started are stopped then.
 */
export async function recoverAndStart(parts: StartUpParts): Promise<void> {
  const { addedPartitions, settlement, reservations, storedResponses, nodes, maintenance } = parts;
  try {
    const unsettled = await settlement.recover();
    if (parts.isOnlyNode) {
      // All calls in flight are those of dead processes.
      await parts.resolveDeadCalls(0);
      if (unsettled === 0) await storedResponses.freeLeftClaims();
    }
    await nodes.start(parts.isOnlyNode);
    // One that is added from now on takes no account before this node ends.
    if (addedPartitions.count > 0) throw addedMeanwhile(addedPartitions.opened);
    await maintenance.start();
    await parts.removeOldUploads();
  } catch (error) {
    await nodes.stop();
    await settlement.drain();
    await reservations.drain();
    await maintenance.stop();
    throw error;
  }
}
