import type { Clock } from '../../lib/clock.ts';
import type { KeyUse, KeyUseStore } from './key-use-store.ts';

interface KeyUsesOptions {
  readonly store: Pick<KeyUseStore, 'record'>;
  readonly clock: Clock;
  /** Minimum time between two writes of a key. */
  readonly everyMs?: number;
  /** How long uses are collected for one write. */
  readonly gatherMs?: number;
}

const EVERY_MS = 60_000;
const GATHER_MS = 1_000;
/** Keys whose last write is remembered. Beyond this, some are written more often. */
const NOTED_MAX = 100_000;
/** Keys that wait for the next write. Beyond this, a key is recorded at its next use. */
const WAITING_MAX = 1_000;

/** Records last uses for display, in batches and once a minute per key. A failed write is dropped: the next use replaces it. */
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
    /** Drops what is not written yet, and resolves when no write is pending. */
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      waiting = [];
      await writing;
    },
  };
}
