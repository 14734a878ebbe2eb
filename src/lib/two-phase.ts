import { BatcherFullError, createBatcher } from './batcher.ts';
import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';

/** A call by its account: what is needed to give back whatever it holds. */
export interface HeldCall {
  readonly accountId: string;
  readonly callId: string;
}

/**
 * Calls that take something before they run and settle it when they have ended, both in coalesced batches. Between the
 * two stands a database that may be away:
 *
 * - an admission that fails leaves nothing behind: where it is unknown whether it took place, what it took is given back
 *   in the background, for as long as that takes;
 * - an end is tried again until `endTimeoutMs` has passed, after that what the call holds is given back likewise.
 */
export interface TwoPhase<Request extends HeldCall, Verdict, Outcome extends HeldCall, Ended = void> {
  /** @throws where the database cannot say; nothing is left behind then. */
  admit(request: Request): Promise<Verdict>;
  /** @throws where the end could not be made durable in time. */
  end(outcome: Outcome): Promise<Ended>;
  /** Resolves when nothing waits for the database any more. */
  drain(): Promise<void>;
}

export interface TwoPhaseOptions<Request extends HeldCall, Verdict, Outcome extends HeldCall, Ended> {
  /** One verdict a request, in the same order. All or nothing. */
  readonly admit: (requests: readonly Request[]) => Promise<readonly Verdict[]>;
  /** One result an outcome, in the same order. Safe to repeat. */
  readonly end: (outcomes: readonly Outcome[]) => Promise<readonly Ended[]>;
  /** Gives back what calls hold, where they hold anything. Safe to repeat. */
  readonly release: (calls: readonly HeldCall[]) => Promise<void>;
  /** Whether an error came from the data of a call rather than from the connection. */
  readonly isItemFault: (error: unknown) => boolean;
  /** Whether an end that failed by its own data may still succeed. Absent: never. */
  readonly isPassing?: (error: unknown) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly endTimeoutMs?: number | undefined;
  readonly retryDelayMs?: number | undefined;
  /** Calls that may wait for a statement; one more is refused. */
  readonly waitingItemsMax?: number | undefined;
}

const BATCH_ITEMS_MAX = 256;
const WAITING_ITEMS_MAX = 50_000;
const END_TIMEOUT_MS = 5_000;
const RETRY_DELAY_MS = 200;

export function createTwoPhase<Request extends HeldCall, Verdict, Outcome extends HeldCall, Ended = void>(
  options: TwoPhaseOptions<Request, Verdict, Outcome, Ended>,
): TwoPhase<Request, Verdict, Outcome, Ended> {
  const { clock, logger, isItemFault } = options;
  const endTimeoutMs = options.endTimeoutMs ?? END_TIMEOUT_MS;
  const retryDelayMs = options.retryDelayMs ?? RETRY_DELAY_MS;
  const waitingItemsMax = options.waitingItemsMax ?? WAITING_ITEMS_MAX;
  const limits = { isItemFault, batchItemsMax: BATCH_ITEMS_MAX, waitingItemsMax };

  const admissions = createBatcher<Request, Verdict>({ ...limits, run: options.admit });
  const ends = createBatcher<Outcome, Ended>({ ...limits, run: options.end });

  /** Ends that are not durable yet, those between two attempts included. */
  const unended = new Set<Promise<Ended>>();

  /** Calls whose admission or end failed, so that they may hold something. */
  let abandoned: HeldCall[] = [];
  let releasing: Promise<void> | null = null;
  let isClosing = false;

  function abandon({ accountId, callId }: HeldCall): void {
    if (abandoned.length >= waitingItemsMax) {
      logger.error({ accountId, callId }, 'too many holds wait to be released; this one is left for recovery');
      return;
    }
    abandoned.push({ accountId, callId });
    releasing ??= releaseAbandoned();
  }

  async function releaseAbandoned(): Promise<void> {
    while (abandoned.length > 0) {
      await delay(retryDelayMs);
      const batch = abandoned.slice(0, BATCH_ITEMS_MAX);
      try {
        await options.release(batch);
        abandoned = abandoned.slice(batch.length);
      } catch (error) {
        logger.warn({ err: error, holds: abandoned.length }, 'holds of failed calls wait to be released');
        if (isClosing) break;
      }
    }
    // In the same breath as the last look at the list, so that what is abandoned from now on starts another round.
    releasing = null;
  }

  async function endInTime(outcome: Outcome): Promise<Ended> {
    const deadlineMs = clock.nowMs() + endTimeoutMs;
    for (let delayMs = retryDelayMs; ; delayMs *= 2) {
      try {
        return await ends.submit(outcome);
      } catch (error) {
        const isFinal = isItemFault(error) && !options.isPassing?.(error);
        if (isFinal || clock.nowMs() + delayMs > deadlineMs) {
          abandon(outcome);
          throw error;
        }
        logger.warn({ err: error, callId: outcome.callId }, 'the end of a call could not be stored yet');
        await delay(delayMs);
      }
    }
  }

  return {
    async admit(request) {
      try {
        return await admissions.submit(request);
      } catch (error) {
        // A full queue and a refused value say for certain that nothing was taken; a lost connection does not.
        if (!(error instanceof BatcherFullError) && !isItemFault(error)) abandon(request);
        throw error;
      }
    },
    async end(outcome) {
      const ending = endInTime(outcome);
      unended.add(ending);
      try {
        return await ending;
      } finally {
        unended.delete(ending);
      }
    },
    async drain() {
      isClosing = true;
      await admissions.drain();
      await Promise.allSettled(unended);
      await releasing;
    },
  };
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
