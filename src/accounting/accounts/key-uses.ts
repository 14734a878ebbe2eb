import type { Clock } from '../../lib/clock.ts';
import type { KeyUse, KeyUseStore } from './key-use-store.ts';

interface KeyUsesOptions {
  readonly store: Pick<KeyUseStore, 'record'>;
  readonly clock: Clock;
  /** Minimum time between two writes for the same key. */
  readonly everyMs?: number;
  /** How long uses are collected before they are written together. */
  readonly gatherMs?: number;
}

const EVERY_MS = 60_000;
const GATHER_MS = 1_000;
/** Maximum number of remembered writes. If more keys are in use, some are written more often than necessary. */
const NOTED_MAX = 100_000;
/** Maximum number of keys that wait to be written. Further ones are recorded at their next use. */
const WAITING_MAX = 1_000;

/** Records when keys were last used, for display only. A failed write is dropped, because the next use of the key replaces it. */
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
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      waiting = [];
      await writing;
    },
  };
}
