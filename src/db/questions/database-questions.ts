import { GatewayError } from '../../errors/gateway-error.ts';
import type { Batch, ItemLimit } from '../../lib/batcher.ts';
import { LateError, NotBegunError } from '../../lib/batcher-errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { responseTimers, type Timers } from '../../lib/timers.ts';
import { isUnavailable } from '../errors.ts';

/**
 * Database requests that calls wait for. Each times out after two seconds, including the wait for its batch.
 *
 * open ──a request times out──▶ down: requests fail at once, one probe at a time is sent ──a response──▶ open
 *
 * A database that refuses connections needs no such state, because every request fails at once.
 */
export interface Questions {
  readonly limit: ItemLimit;
  /** Wraps the work of a batcher. A timeout of the work means that the database is down. While it is, work fails at once. */
  guard<Item, Result>(run: Run<Item, Result>): Run<Item, Result>;
  /** Like `guard`, but a timeout of this work does not mean that the database is down: it may wait for a lock, or no call waits for it. */
  unlessDown<Item, Result>(run: Run<Item, Result>): Run<Item, Result>;
  ask<Result>(question: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  stop(): void;
  /** Whether the last request timed out, so that further ones fail at once. */
  readonly isDown: boolean;
}

type Run<Item, Result> = (items: readonly Item[], batch: Batch) => Promise<readonly Result[]>;

export interface QuestionTiming {
  readonly questionMs?: number;
  readonly probePauseMs?: number;
  readonly timers?: Timers;
}

const QUESTION_MS = 2_000;
const PROBE_PAUSE_MS = 250;

interface QuestionsOptions extends QuestionTiming {
  readonly probe: (signal: AbortSignal) => Promise<unknown>;
  readonly logger: Logger;
}

export function createQuestions(options: QuestionsOptions): Questions {
  const { logger, timers = responseTimers } = options;
  const questionMs = options.questionMs ?? QUESTION_MS;
  const probePauseMs = options.probePauseMs ?? PROBE_PAUSE_MS;
  let isDown = false;
  let isProbing = false;
  let isStopped = false;
  let cancelProbe: () => void = () => undefined;

  function fell(error: unknown): void {
    if (isDown) return;
    isDown = true;
    logger.warn({ err: error }, 'the database does not respond; calls fail immediately until it does');
    probeLater();
  }

  function rose(): void {
    if (!isDown) return;
    isDown = false;
    cancelProbe();
    logger.info({}, 'the database responds again');
  }

  /** If a probe is pending, it schedules the next one itself. */
  function probeLater(): void {
    if (isDown && !isProbing && !isStopped) cancelProbe = timers.after(probePauseMs, probe);
  }

  async function inTime<Result>(ask: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const aborts = new AbortController();
    const cancel = timers.after(questionMs, () => aborts.abort(new LateError()));
    try {
      return await ask(aborts.signal);
    } finally {
      cancel();
    }
  }

  function probe(): void {
    isProbing = true;
    inTime(options.probe)
      .then(rose, () => undefined)
      .finally(() => {
        isProbing = false;
        probeLater();
      });
  }

  function unlessDown<Item, Result>(run: Run<Item, Result>): Run<Item, Result> {
    return async (items, batch) => {
      if (isDown) throw new NotBegunError('the database does not respond');
      return run(items, batch);
    };
  }

  function guard<Item, Result>(run: Run<Item, Result>): Run<Item, Result> {
    return async (items, batch) => {
      if (isDown) throw new NotBegunError('the database does not respond');
      try {
        const results = await run(items, batch);
        rose();
        return results;
      } catch (error) {
        if (batch.signal.aborted) fell(error);
        throw error;
      }
    };
  }

  return {
    get isDown() {
      return isDown;
    },
    limit: { ms: questionMs, timers },
    guard,
    unlessDown,
    ask: (question) =>
      inTime(async (signal) => {
        const asked = guard(async () => [await question(signal)]);
        const [result] = await asked([], { signal, dueMs: [] });
        return result!;
      }),
    stop() {
      isStopped = true;
      cancelProbe();
    },
  };
}

/** Returns the client's error for a failed request. The client may retry if the database was unavailable. */
export function refusedFor(error: unknown): unknown {
  const isDown = error instanceof NotBegunError || error instanceof LateError || isUnavailable(error);
  return isDown ? new GatewayError('databaseDown', { headers: RETRY_AFTER, cause: error }) : error;
}

/** Long enough for short outages. In long ones, retried calls fail without reaching the database. */
const RETRY_AFTER = { 'retry-after': '2' };
