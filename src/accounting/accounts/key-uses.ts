import type { Clock } from '../../lib/clock.ts';
import type { KeyUse, KeyUseStore } from './key-use-store.ts';

interface KeyUsesOptions {
  readonly store: Pick<KeyUseStore, 'record'>;
  readonly clock: Clock;
  /** How often a key is written at most. */
  readonly everyMs?: number;
  /** How long uses are gathered. */
  readonly gatherMs?: number;
}

const EVERY_MS = 60_000;
const GATHER_MS = 1_000;
/** Keys whose last use is remembered; beyond that, some are written more often. */
const NOTED_MAX = 100_000;
/** Keys that wait to be written; beyond that, they are noted at their next use. */
const WAITING_MAX = 1_000;

/**
 * When keys were used last, for people who ask. A use is written behind its call, with those of other keys, once a minute for
 * a key; one that cannot be written is dropped, because the next one says as much.
 */
export function createKeyUses(options: KeyUsesOptions) {
  const { store, clock, everyMs = EVERY_MS, gatherMs = GATHER_MS } = options;
  const notedAtMs = new Map<string, number>();
  let waiting: KeyUse[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  let isStopped = false;

  function write(): void {
    timer = undefined;
    const uses = waiting;
    waiting = [];
    writing = writing.then(() => store.record(uses)).catch(() => undefined);
  }

  return {
    /** Notes that a key is used now. It returns at once. */
    note(accountId: string, keyId: string): void {
      const usedAtMs = clock.nowMs();
      const before = notedAtMs.get(keyId);
      if (before !== undefined && Math.abs(usedAtMs - before) < everyMs) return;
      if (isStopped || waiting.length >= WAITING_MAX) return;
      if (notedAtMs.size >= NOTED_MAX) notedAtMs.clear();
      notedAtMs.set(keyId, usedAtMs);
      waiting.push({ accountId, keyId, usedAtMs });
      timer ??= setTimeout(write, gatherMs).unref();
    },
    /** Drops what is not written yet, and resolves when nothing is under way. */
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      waiting = [];
      await writing;
    },
  };
}
