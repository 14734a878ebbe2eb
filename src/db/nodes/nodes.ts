import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { DatabaseClock } from './database-clock.ts';
import type { NodeStore } from './nodes-store.ts';

/**
 * A node among those that share a database: it writes a heartbeat every few seconds, and takes over what dead nodes left.
 *
 * A node without a heartbeat for `deadAfterMs` is taken for dead. After the database was down, or after the machine slept,
 * this is true of all nodes. So a node judges the others only after its own heartbeats came for as long without a gap; until
 * then every node that lives had the time to write one. A node that is taken for dead by mistake loses nothing: its calls
 * end as they would have (`accounting/settlement/settle.ts`), and its next heartbeat brings it back.
 */
export interface Nodes {
  /**
   * Writes the first heartbeat of this node, and then one every few seconds.
   *
   * @param isOnlyNode no other node can use the database: those in it were killed, and are forgotten.
   * @throws if the database is down.
   */
  start(isOnlyNode: boolean): Promise<void>;
  /** One heartbeat, and the sweep that may follow; resolves when both are done. Never throws. A timer calls it. */
  round(): Promise<void>;
  /**
   * Ends the heartbeats, waits for what is under way, and deletes the row of this node, so that it is dead for the others at
   * once; does nothing if it was not started. Never throws.
   */
  stop(): Promise<void>;
}

interface NodesOptions {
  readonly store: Omit<NodeStore, 'forget'>;
  readonly nodeId: string;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Gets a reading with every heartbeat. */
  readonly databaseClock: Pick<DatabaseClock, 'read'>;
  /** Gets with every heartbeat how many partitions there are. */
  readonly onPartitions: (count: number) => void;
  /**
   * Each takes over what nodes left that had no heartbeat for so long, in a partition. If one fails, it is tried again at the next
   * heartbeat; none waits for another one.
   */
  readonly sweeps: readonly ((deadAfterMs: number) => Promise<void>)[];
  readonly beatMs?: number;
  readonly deadAfterMs?: number;
}

const BEAT_MS = 3_000;
/** With a heartbeat, a round and a sweep after it, reservations of dead nodes are released within 30 s. */
const DEAD_AFTER_MS = 15_000;

export function createNodes(options: NodesOptions): Nodes {
  const { store, nodeId, logger, clock, databaseClock } = options;
  const beatMs = options.beatMs ?? BEAT_MS;
  const deadAfterMs = options.deadAfterMs ?? DEAD_AFTER_MS;

  /** How long the heartbeats of this node came without a gap, by the database's clock. */
  let heardForMs = 0;
  let isBeatLost = false;
  let timer: NodeJS.Timeout | undefined;
  // Promises of their own, because a sweep may take longer than a node may be without a heartbeat.
  let beating: Promise<void> | null = null;
  const sweeps = options.sweeps.map((run) => ({ run, running: null as Promise<void> | null, hasFailed: false }));

  async function beat(): Promise<void> {
    const askedMs = clock.nowMs();
    const { sinceLastMs, databaseMs, partitions } = await store.beat(nodeId);
    options.onPartitions(partitions);
    databaseClock.read({ databaseMs, askedMs, arrivedMs: clock.nowMs() });
    // Negative where the database's clock was put back: the last heartbeats of all nodes are in its future then.
    const isGap = sinceLastMs === null || sinceLastMs < 0 || sinceLastMs >= deadAfterMs / 2;
    heardForMs = isGap ? 0 : heardForMs + sinceLastMs;
  }

  async function beatAndNote(): Promise<void> {
    try {
      await beat();
      if (isBeatLost) logger.info({ nodeId }, 'the database hears again that this node lives');
      isBeatLost = false;
    } catch (error) {
      heardForMs = 0;
      if (!isBeatLost) logger.warn({ err: error, nodeId }, 'the database does not hear that this node lives');
      isBeatLost = true;
    }
  }

  async function sweepAndNote(sweep: { readonly run: (deadAfterMs: number) => Promise<void>; hasFailed: boolean }) {
    try {
      await sweep.run(deadAfterMs);
      if (sweep.hasFailed) logger.info({}, 'what dead nodes left is taken over again');
      sweep.hasFailed = false;
    } catch (error) {
      if (!sweep.hasFailed) {
        logger.error({ err: error }, 'what dead nodes left could not be taken over; it is tried again');
      }
      sweep.hasFailed = true;
    }
  }

  async function round(): Promise<void> {
    beating ??= beatAndNote().finally(() => {
      beating = null;
    });
    await beating;
    if (heardForMs < deadAfterMs) return;
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
        logger.warn({ err: error, nodeId }, 'this node could not take its leave; the others will notice by themselves');
      });
    },
  };
}
