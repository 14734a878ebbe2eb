import type { Nodes } from '../accounting/nodes/nodes.ts';
import type { Reservations } from '../accounting/reservations/reservations.ts';
import type { Settlement } from '../accounting/settlement/settlement.ts';
import type { StoredResponses } from '../accounting/settlement/stored-responses.ts';
import type { Database } from '../db/database.ts';
import type { Maintenance } from './maintenance.ts';

export interface StartUpParts {
  readonly database: Pick<Database, 'engine'>;
  readonly settlement: Settlement;
  readonly reservations: Pick<Reservations, 'drain'>;
  readonly storedResponses: Pick<StoredResponses, 'freeLeftClaims'>;
  readonly nodes: Nodes;
  readonly maintenance: Maintenance;
  /** Resolves the calls of nodes that were not heard for so long. */
  readonly resolveDeadCalls: (deadAfterMs: number) => Promise<void>;
  readonly removeOldUploads: () => Promise<unknown>;
}

/**
 * Brings the database into order before the first call is taken, in this order: ends of calls that earlier processes left in
 * their journals, because their outcome is known; calls whose node is dead; what is old enough to be forgotten, because what
 * has to be settled may need it; bodies that an earlier process left on disk.
 *
 * @throws where one of them fails; nothing goes on by itself then.
 */
export async function recoverAndStart(parts: StartUpParts): Promise<void> {
  const { database, settlement, reservations, storedResponses, nodes, maintenance } = parts;
  try {
    const unsettled = await settlement.recover();
    if (database.engine === 'embedded') {
      // Nobody else can have calls in flight on an embedded database.
      await parts.resolveDeadCalls(0);
      if (unsettled === 0) await storedResponses.freeLeftClaims();
    } else {
      await nodes.start();
    }
    await maintenance.round();
    await parts.removeOldUploads();
  } catch (error) {
    await nodes.stop();
    await settlement.drain();
    await reservations.drain();
    maintenance.stop();
    throw error;
  }
}
