import { GatewayError } from '../../errors/gateway-error.ts';
import type { Batch, ItemLimit } from '../../lib/batcher.ts';
import { LateError, NotBegunError } from '../../lib/batcher-errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { systemTimers, type Timers } from '../../lib/timers.ts';
import { isUnavailable } from '../errors.ts';

/**
 * Database questions of calls. Each times out after two seconds, including its wait for a batch.
 *
 *     open ──a question times out──▶ down: questions fail at once, one probe at a time is sent ──a response──▶ open
 *
 * A database that refuses connections needs no such state, because every question fails at once. A silent one would make every call wait.
 */
export interface Questions {
  readonly limit: ItemLimit;
  /** Wraps the work of a batcher. The work does not start while the database is down, and its result shows whether it is. */
  guard<Item, Result>(run: Run<Item, Result>): Run<Item, Result>;
  /** Like `guard`, for work whose duration says nothing about the database: it may wait for a lock, or nobody waits for it. */
  unlessDown<Item, Result>(run: Run<Item, Result>): Run<Item, Result>;
  ask<Result>(question: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  stop(): void;
  /** Whether the last question timed out, so that further ones fail at once. */
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
  const { logger, timers = systemTimers } = options;
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

  /** Schedules a probe unless one is pending; that one schedules the next. */
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

/** The client's error for a failed question; it can be retried if the database could not respond. */
export function refusedFor(error: unknown): unknown {
  const isDown = error instanceof NotBegunError || error instanceof LateError || isUnavailable(error);
  return isDown ? new GatewayError('databaseDown', { headers: RETRY_AFTER, cause: error }) : error;
}

/** Short outages end soon; during long ones, these calls do not reach the database. */
const RETRY_AFTER = { 'retry-after': '2' };
