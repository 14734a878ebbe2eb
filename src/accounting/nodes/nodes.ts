import type { Logger } from '../../lib/logger.ts';
import type { NodeStore } from './store.ts';

/**
 * A node among those that share a database: it says every few seconds that it lives, and takes over what dead ones left.
 *
 * Whoever has not been heard for `deadAfterMs` is taken for dead. After the database was away, or after the machine slept,
 * that is everybody. So a node judges the others only after it has itself been heard for as long without a gap; until then
 * each of them that lives has had the time to say so. A node that is taken for dead wrongly all the same loses nothing: its
 * calls end as they would have (`billing/dead-hold-store.ts`), and its next beat brings it back.
 */
export interface Nodes {
  /** Says for the first time that this node lives, and goes on with it. @throws where the database is away. */
  start(): Promise<void>;
  /** One beat, and what may follow from it; resolves when both are done. Never throws. A timer asks for it. */
  round(): Promise<void>;
  /**
   * Ends the beats, waits for what is under way, and tells the others that this node is gone, where it was started. Never
   * throws.
   */
  stop(): Promise<void>;
}

export interface NodesOptions {
  readonly store: NodeStore;
  readonly nodeId: string;
  readonly logger: Logger;
  /** Takes over what nodes left that were not heard for so long. Where it fails, it is tried again at the next beat. */
  readonly sweep: (deadAfterMs: number) => Promise<void>;
  readonly beatMs?: number;
  readonly deadAfterMs?: number;
}

const BEAT_MS = 3_000;
/** With a beat, a round of a judge and a sweep behind it well within the 30 s in which holds are released (design 11). */
const DEAD_AFTER_MS = 15_000;

export function createNodes(options: NodesOptions): Nodes {
  const { store, nodeId, logger, sweep } = options;
  const beatMs = options.beatMs ?? BEAT_MS;
  const deadAfterMs = options.deadAfterMs ?? DEAD_AFTER_MS;

  /** How long this node has been heard without a gap, by the database's clock. */
  let heardForMs = 0;
  let isBeatLost = false;
  let timer: NodeJS.Timeout | undefined;
  // Apart, because a sweep may take longer than a node may be silent.
  let beating: Promise<void> | null = null;
  let sweeping: Promise<void> | null = null;

  async function beat(): Promise<void> {
    const { sinceLastMs } = await store.beat(nodeId);
    // Negative where the database's clock was put back: the last beats of all are in its future then.
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

  async function sweepAndNote(): Promise<void> {
    try {
      await sweep(deadAfterMs);
    } catch (error) {
      logger.error({ err: error }, 'what dead nodes left could not be taken over; it is tried again');
    }
  }

  async function round(): Promise<void> {
    beating ??= beatAndNote().finally(() => {
      beating = null;
    });
    await beating;
    if (heardForMs < deadAfterMs) return;
    sweeping ??= sweepAndNote().finally(() => {
      sweeping = null;
    });
    await sweeping;
  }

  return {
    async start() {
      await store.forget();
      await beat();
      timer = setInterval(() => void round(), beatMs);
      timer.unref();
    },
    round,
    async stop() {
      if (timer === undefined) return;
      clearInterval(timer);
      await beating;
      await sweeping;
      await store.leave(nodeId).catch((error: unknown) => {
        logger.warn({ err: error, nodeId }, 'this node could not take its leave; the others will notice by themselves');
      });
    },
  };
}
