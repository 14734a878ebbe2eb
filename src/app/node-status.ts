import type { DirectoryDatabase } from '../db/home-lanes.ts';
import type { ReadReadiness } from '../http/health.ts';
import type { Accounting } from './accounting.ts';
import { createReadiness } from './readiness.ts';

/** Whether a node takes calls, and what it says of that to load balancers, people and metrics. */
export interface NodeStatus {
  /** Whether this node is ready: one worker of several, too. */
  readonly readReadiness: ReadReadiness;
  /** Whether the node takes calls, where the database responds. */
  readonly takesCalls: () => boolean;
  readonly isDatabaseUp: () => Promise<boolean>;
  /** From now on the node is not ready; it serves calls as before. */
  announceClose(): void;
}

const CLOSE_ANNOUNCED = 'This node is about to stop; it still serves calls.';

export function createNodeStatus(
  directory: DirectoryDatabase,
  { databaseClock, settlement, addedPartitions }: Pick<Accounting, 'databaseClock' | 'settlement' | 'addedPartitions'>,
): NodeStatus {
  let isCloseAnnounced = false;
  // A node without a partition serves the accounts of the others.
  const isDatabaseUp = createReadiness(() => directory.lane('probes').query({ name: 'health.ping', text: 'select 1' }));
  const takesCalls = (): boolean => !isCloseAnnounced && settlement.canTakeCalls;
  return {
    takesCalls,
    isDatabaseUp,
    async readReadiness() {
      const isReady = takesCalls() && (await isDatabaseUp());
      const warnings = [databaseClock.warning, addedPartitions.warning].filter((warning) => warning !== null);
      return { isReady, detail: [...(isCloseAnnounced ? [CLOSE_ANNOUNCED] : []), ...warnings] };
    },
    announceClose() {
      isCloseAnnounced = true;
    },
  };
}
