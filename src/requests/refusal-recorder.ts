import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { systemTimers, type Timers } from '../lib/timers.ts';
import { RefusalMinute } from './refusal.ts';
import type { Refusal, RefusalsStore } from './refusals-store.ts';

/** Refusals that may wait for the database; more are only counted. */
const WAITING_MAX = 2_000;
/** Those and counts, of which a minute can have many; more are dropped. */
const ROWS_WAITING_MAX = 12_000;
const BATCH_MAX = 500;
/** How long a refusal waits for others, so that they are written together. */
const PAUSE_MS = 1_000;

interface RefusalRecorderOptions {
  readonly store: Pick<RefusalsStore, 'insert'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly timers?: Timers;
  /** Refusals that are recorded one by one in a minute, of an account and code, and of all strangers together. */
  readonly recordedMax?: number;
}

export type RefusalRecorder = ReturnType<typeof createRefusalRecorder>;

/** Records refusals in the background: nothing waits for it, and where the database is slow it drops some and counts them. */
export function createRefusalRecorder(options: RefusalRecorderOptions) {
  const { store, clock, ids, logger, timers = systemTimers } = options;
  const minute = new RefusalMinute(options.recordedMax);
  let waiting: Refusal[] = [];
  let dropped = 0;
  let isFailing = false;
  let cancel: (() => void) | null = null;
  let writing: Promise<void> = Promise.resolve();

  function enqueueCount(refusal: Refusal): void {
    if (waiting.length < ROWS_WAITING_MAX) waiting.push(refusal);
    else dropped += refusal.count;
  }

  /** The counts of a minute that is over become rows. */
  function turnMinute(nowMs: number): void {
    for (const { minuteMs, accountId, code, count } of minute.takeCounts(nowMs)) {
      enqueueCount({ ...NOTHING_KNOWN, id: ids.next('req'), atMs: minuteMs, accountId, code, count });
    }
  }

  function schedule(): void {
    cancel ??= timers.after(PAUSE_MS, () => {
      cancel = null;
      turnMinute(clock.nowMs());
      writing = writing.then(write);
    });
  }

  async function write(): Promise<void> {
    const batch = waiting.slice(0, BATCH_MAX);
    waiting = waiting.slice(BATCH_MAX);
    if (batch.length > 0) {
      try {
        await store.insert(batch);
        isFailing = false;
      } catch (error) {
        for (const { count } of batch) dropped += count;
        if (!isFailing) logger.warn({ err: error, dropped }, 'refusals could not be recorded; they are dropped');
        isFailing = true;
      }
    }
    if (waiting.length > 0 || minute.hasCounts) schedule();
  }

  return {
    record(accountId: string | null, code: string, make: () => Refusal): void {
      turnMinute(clock.nowMs());
      const fate = minute.decide(accountId, code);
      if (fate === 'recorded' && waiting.length < WAITING_MAX) waiting.push(make());
      // What cannot wait is counted as well: it may be a flood over many accounts.
      else if (fate === 'dropped' || (fate === 'recorded' && !minute.count(accountId, code))) dropped++;
      schedule();
    },
    /** How many were neither recorded nor counted since the start. */
    get dropped(): number {
      return dropped;
    },
    /** Writes what waits, once. */
    async close(): Promise<void> {
      cancel?.();
      await writing;
      // The minute is not over, but nothing more comes.
      turnMinute(Number.POSITIVE_INFINITY);
      do await write();
      while (waiting.length > 0);
      cancel?.();
    },
  };
}

/** Of counts only time, account and code are known. */
const NOTHING_KNOWN = {
  keyId: null,
  clientRequestId: null,
  clientAddress: null,
  method: null,
  path: null,
  operation: null,
  model: null,
  status: null,
  message: null,
  param: null,
} as const;
