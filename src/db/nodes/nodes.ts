import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { DatabaseClock } from './database-clock.ts';
import type { NodeStore } from './nodes-store.ts';

/**
 * This node among several that share a database. It writes heartbeats and cleans up after dead nodes: those without a heartbeat for
 * `deadAfterMs`.
 *
 * After an outage of the database or a sleep of the machine, no node has a recent heartbeat. So a node judges others only after its own
 * heartbeats have continued for `deadAfterMs`. A node that wrongly counts as dead loses nothing: its calls end normally
 * (`accounting/settlement/settle.ts`), and its next heartbeat shows that it is alive.
 */
export interface Nodes {
  /**
   * Writes the first heartbeat and starts the regular ones. `isOnlyNode`: no other node can use the database, so all registered nodes are
   * deleted. @throws if the database is down.
   */
  start(isOnlyNode: boolean): Promise<void>;
  /** Writes a heartbeat and runs sweeps that are due. Resolves when both are done. A timer calls it. Never throws. */
  round(): Promise<void>;
  /** Stops the heartbeats, waits for pending work, and deletes the node's row, so that it counts as dead. Never throws. */
  stop(): Promise<void>;
}

interface NodesOptions {
  readonly store: Omit<NodeStore, 'forget'>;
  readonly nodeId: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly databaseClock: Pick<DatabaseClock, 'read'>;
  readonly onPartitions: (count: number) => void;
  /** Functions that clean up after dead nodes, one per partition. A failed one is tried again with the next heartbeat. */
  readonly sweeps: readonly ((deadAfterMs: number) => Promise<void>)[];
  readonly beatMs?: number;
  readonly deadAfterMs?: number;
}

const BEAT_MS = 3_000;
/** After this time without a heartbeat, a node counts as dead. Its reservations are released within 30 s, by a sweep after this time. */
const DEAD_AFTER_MS = 15_000;

export function createNodes(options: NodesOptions): Nodes {
  const { store, nodeId, logger, clock, databaseClock } = options;
  const beatMs = options.beatMs ?? BEAT_MS;
  const deadAfterMs = options.deadAfterMs ?? DEAD_AFTER_MS;

  /** How long heartbeats have come without a gap, by the database's clock. */
  let continuousMs = 0;
  let hasHeartbeatFailed = false;
  let timer: NodeJS.Timeout | undefined;
  // Sweeps have promises of their own, because a sweep may take longer than the interval of heartbeats.
  let beating: Promise<void> | null = null;
  const sweeps = options.sweeps.map((run) => ({ run, running: null as Promise<void> | null, hasFailed: false }));

  async function beat(): Promise<void> {
    const askedMs = clock.nowMs();
    const { sinceLastMs, databaseMs, partitions } = await store.beat(nodeId);
    options.onPartitions(partitions);
    databaseClock.read({ databaseMs, askedMs, arrivedMs: clock.nowMs() });
    // A negative time means that the database's clock was set back: the last heartbeats of all nodes are then in the future.
    const isGap = sinceLastMs === null || sinceLastMs < 0 || sinceLastMs >= deadAfterMs / 2;
    continuousMs = isGap ? 0 : continuousMs + sinceLastMs;
  }

  async function beatAndNote(): Promise<void> {
    try {
      await beat();
      if (hasHeartbeatFailed) logger.info({ nodeId }, 'heartbeats restored');
      hasHeartbeatFailed = false;
    } catch (error) {
      continuousMs = 0;
      if (!hasHeartbeatFailed) logger.warn({ err: error, nodeId }, 'heartbeats failed');
      hasHeartbeatFailed = true;
    }
  }

  async function sweepAndNote(sweep: { readonly run: (deadAfterMs: number) => Promise<void>; hasFailed: boolean }) {
    try {
      await sweep.run(deadAfterMs);
      if (sweep.hasFailed) logger.info({}, 'recovery of dead nodes works again');
      sweep.hasFailed = false;
    } catch (error) {
      if (!sweep.hasFailed) {
        logger.error({ err: error }, 'recovery of dead nodes failed; retrying');
      }
      sweep.hasFailed = true;
    }
  }

  async function round(): Promise<void> {
    beating ??= beatAndNote().finally(() => {
      beating = null;
    });
    await beating;
    if (continuousMs < deadAfterMs) return;
    for (const sweep of sweeps) {
      sweep.running ??= sweepAndNote(sweep).finally(() => {
        sweep.running = null;
      });
    }
    await allSwept();
  }

  async function allSwept(): Promise<void> {
    await Promise.all(sweeps.map(({ running }) => running));
  }

  return {
    async start(isOnlyNode) {
      if (isOnlyNode) await store.forgetAll();
      await beat();
      timer = setInterval(() => void round(), beatMs);
      timer.unref();
    },
    round,
    async stop() {
      if (timer === undefined) return;
      clearInterval(timer);
      await beating;
      await allSwept();
      await store.leave(nodeId).catch((error: unknown) => {
        logger.warn(
          { err: error, nodeId },
          'failed to deregister this node; other nodes will detect that it has stopped',
        );
      });
    },
  };
}
