import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { systemTimers, type Timers } from '../lib/timers.ts';
import { scrub } from '../providers/upstream/secrets.ts';
import { RefusalMinute } from './refusal.ts';
import type { Refusal, RefusalsStore } from './refusals-store.ts';
import type { RequestObserver, RequestReport } from './request-report.ts';

/** Maximum number of refusals that wait to be recorded. Further ones are only counted. */
const WAITING_MAX = 2_000;
/** Maximum number of refusals and counts that wait. Further ones are dropped. A minute can have 10,000 counts. */
const ROWS_WAITING_MAX = 12_000;
const BATCH_MAX = 500;
/** How long a refusal waits for others to share its insert. */
const PAUSE_MS = 1_000;

interface RefusalRecorderOptions {
  readonly store: Pick<RefusalsStore, 'insert'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly timers?: Timers;
  /** Maximum number of refusals that are recorded per minute: for each account and code, and for all unknown accounts together. */
  readonly recordedMax?: number;
}

type RefusalRecorder = ReturnType<typeof createRefusalRecorder>;

/** Records refusals in the background. If the database is slow, refusals are dropped, and the dropped ones counted. */
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

  /** Converts the counts of a minute that is over to rows. */
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
      // If the queue is full, the refusal is counted instead: it may be one of very many, of many accounts.
      else if (fate === 'dropped' || (fate === 'recorded' && !minute.count(accountId, code))) dropped++;
      schedule();
    },
    /** Number of refusals that were neither recorded nor counted. */
    get dropped(): number {
      return dropped;
    },
    /** Stops. Tries to write each waiting row once. */
    async close(): Promise<void> {
      cancel?.();
      await writing;
      // No more refusals arrive, so the current minute can end early.
      closeMinute(Number.POSITIVE_INFINITY);
      do await write();
      while (waiting.length > 0);
      cancel?.();
    },
  };
}

/** Columns of a count, which has only a time, an account and a code. */
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
  /** Operation whose refusals are not recorded. */
  readonly exceptOperation: string;
}

/** Records refusals of requests. `docs/logging.md` describes the records. */
export function createRefusalRecords(
  recorder: RefusalRecorder,
  { isOff, exceptOperation }: RecordedWhen,
): RequestObserver {
  return (report) => {
    if (!isRecorded(report) || report.operation === exceptOperation || isOff()) return;
    recorder.record(report.principal?.accountId ?? null, report.errorCode ?? 'unknown', () => toRefusal(report));
  };
}

/** Whether a refusal is recorded. Health checks, requests of operators, and connections closed before a request are not. */
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

/** Returns a text without keys, addresses and control characters: it may quote the client. */
function storable(text: string, lengthMax: number): string {
  return scrub(text.slice(0, lengthMax), []).toWellFormed();
}
