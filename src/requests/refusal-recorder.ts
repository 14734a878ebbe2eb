import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { systemTimers, type Timers } from '../lib/timers.ts';
import { scrub } from '../providers/upstream/secrets.ts';
import { RefusalMinute } from './refusal.ts';
import type { Refusal, RefusalsStore } from './refusals-store.ts';
import type { RequestObserver, RequestReport } from './request-report.ts';

/** Beyond this number of waiting refusals, further ones are only counted. */
const WAITING_MAX = 2_000;
/** Beyond this number of waiting refusals and counts, further ones are dropped. One minute can have 10,000 counts. */
const ROWS_WAITING_MAX = 12_000;
const BATCH_MAX = 500;
/** A refusal waits this long for others to share its insert. */
const PAUSE_MS = 1_000;

interface RefusalRecorderOptions {
  readonly store: Pick<RefusalsStore, 'insert'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly timers?: Timers;
  /** The limit applies to each account and code, and to all unknown accounts together. */
  readonly recordedMax?: number;
}

type RefusalRecorder = ReturnType<typeof createRefusalRecorder>;

/** If the database is slow, refusals are dropped and the drops counted. */
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

  /** Turns the counts of a finished minute into rows. */
  function closeMinute(nowMs: number): void {
    for (const { minuteMs, accountId, code, count } of minute.takeCounts(nowMs)) {
      enqueueCount({ ...NOTHING_KNOWN, id: ids.next('req'), atMs: minuteMs, accountId, code, count });
    }
  }

  function schedule(): void {
    cancel ??= timers.after(PAUSE_MS, () => {
      cancel = null;
      closeMinute(clock.nowMs());
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
        if (!isFailing) logger.warn({ err: error, dropped }, 'failed to record refusals; they are dropped');
        isFailing = true;
      }
    }
    if (waiting.length > 0 || minute.hasCounts) schedule();
  }

  return {
    record(accountId: string | null, code: string, make: () => Refusal): void {
      closeMinute(clock.nowMs());
      const fate = minute.decide(accountId, code);
      if (fate === 'recorded' && waiting.length < WAITING_MAX) waiting.push(make());
      // If the queue is full, the refusal is still counted: it may be part of a flood over many accounts.
      else if (fate === 'dropped' || (fate === 'recorded' && !minute.count(accountId, code))) dropped++;
      schedule();
    },
    /** Counts refusals that were neither recorded nor counted. */
    get dropped(): number {
      return dropped;
    },
    /** Each waiting row is tried once. */
    async close(): Promise<void> {
      cancel?.();
      await writing;
      // No more refusals arrive, so the current minute ends early.
      closeMinute(Number.POSITIVE_INFINITY);
      do await write();
      while (waiting.length > 0);
      cancel?.();
    },
  };
}

/** A count has only a time, account and code. */
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

const TEXT_LENGTH_MAX = 500;
const MODEL_LENGTH_MAX = 200;

interface RecordedWhen {
  readonly isOff: () => boolean;
  /** Refusals of this operation leave no record. */
  readonly exceptOperation: string;
}

/** `docs/logging.md` describes the records. */
export function createRefusalRecords(
  recorder: RefusalRecorder,
  { isOff, exceptOperation }: RecordedWhen,
): RequestObserver {
  return (report) => {
    if (!isRecorded(report) || report.operation === exceptOperation || isOff()) return;
    recorder.record(report.principal?.accountId ?? null, report.errorCode ?? 'unknown', () => toRefusal(report));
  };
}

/** Health checks, requests of operators, and connections closed before a request are not recorded. */
function isRecorded({ end, kind }: Pick<RequestReport, 'end' | 'kind'>): boolean {
  return end === 'refused' && (kind === 'call' || kind === 'estimate' || kind === 'query' || kind === 'unknown');
}

function toRefusal(report: RequestReport): Refusal {
  const { modelAsked, errorMessage, errorParam } = report;
  return {
    id: report.requestId,
    atMs: report.startedAtMs,
    count: 1,
    accountId: report.principal?.accountId ?? null,
    keyId: report.principal?.keyId ?? null,
    clientRequestId: report.clientRequestId,
    clientAddress: report.clientAddress === '' ? null : report.clientAddress,
    method: report.method,
    path: report.path,
    operation: report.operation,
    model: modelAsked === null ? null : storable(modelAsked, MODEL_LENGTH_MAX),
    status: report.status,
    code: report.errorCode ?? 'unknown',
    message: errorMessage === null ? null : storable(errorMessage, TEXT_LENGTH_MAX),
    param: errorParam === null ? null : storable(errorParam, MODEL_LENGTH_MAX),
  };
}

/** The text may quote the client, so keys, addresses and control characters are removed. */
function storable(text: string, lengthMax: number): string {
  return scrub(text.slice(0, lengthMax), []).toWellFormed();
}
