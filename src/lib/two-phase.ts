import { setTimeout as delay } from 'node:timers/promises';
import { type Batch, ItemBatcher, type ItemLimit } from './batcher.ts';
import { NotBegunError } from './batcher-errors.ts';
import type { Logger } from './logger.ts';

/** Identifies what a call has reserved. */
export interface HeldCall {
  readonly accountId: string;
  readonly callId: string;
}

/**
 * Processes calls in two phases, in batches. At admission, a call reserves something, such as an idempotency key; its end releases or
 * completes this. If the database is down:
 *
 * - An admission fails and leaves nothing reserved. If its result is unknown, a release is tried in the background until it succeeds.
 * - An end is tried once and is safe to repeat. The caller handles the failure (`accounting/settlement`).
 */
interface TwoPhase<Request extends HeldCall, Verdict, Outcome extends HeldCall, Ended = void> {
  /** Admits a call. @throws if the result is unknown or the database refuses the values; in the end, nothing stays reserved */
  admit(request: Request): Promise<Verdict>;
  /** Ends a call. @throws if the end is not durable, or if this is unknown */
  end(outcome: Outcome): Promise<Ended>;
  /** Releases everything that the call may have reserved, in the background. */
  abandon(call: HeldCall): void;
  drain(): Promise<void>;
}

export interface TwoPhaseOptions<Request extends HeldCall, Verdict, Outcome extends HeldCall, Ended> {
  /** Admits calls atomically. Returns one verdict per request, in order. */
  readonly admit: (requests: readonly Request[], batch: Batch) => Promise<readonly Verdict[]>;
  /** Ends calls. Returns one result per outcome, in order. Must be safe to repeat. */
  readonly end: (outcomes: readonly Outcome[]) => Promise<readonly Ended[]>;
  /** Releases what the calls have reserved, if anything. Must be safe to repeat. */
  readonly release: (calls: readonly HeldCall[]) => Promise<void>;
  /** Whether an error was caused by the data of a call rather than by the connection. */
  readonly isItemFault: (error: unknown) => boolean;
  readonly logger: Logger;
  readonly retryDelayMs?: number | undefined;
  /** Maximum number of waiting calls. Further calls are refused. */
  readonly waitingItemsMax?: number | undefined;
  readonly admissionLimit?: ItemLimit | undefined;
}

const BATCH_ITEMS_MAX = 256;
const WAITING_ITEMS_MAX = 50_000;
const RETRY_DELAY_MS = 200;

export function createTwoPhase<Request extends HeldCall, Verdict, Outcome extends HeldCall, Ended = void>(
  options: TwoPhaseOptions<Request, Verdict, Outcome, Ended>,
): TwoPhase<Request, Verdict, Outcome, Ended> {
  const { logger, isItemFault } = options;
  const retryDelayMs = options.retryDelayMs ?? RETRY_DELAY_MS;
  const waitingItemsMax = options.waitingItemsMax ?? WAITING_ITEMS_MAX;
  const limits = { isItemFault, batchItemsMax: BATCH_ITEMS_MAX, waitingItemsMax };

  const admissions = new ItemBatcher<Request, Verdict>({
    ...limits,
    run: options.admit,
    limit: options.admissionLimit,
  });
  const ends = new ItemBatcher<Outcome, Ended>({ ...limits, run: options.end });

  let abandoned: HeldCall[] = [];
  let releasing: Promise<void> | null = null;
  let isClosing = false;

  function abandon({ accountId, callId }: HeldCall): void {
    if (abandoned.length >= waitingItemsMax) {
      logger.error({ accountId, callId }, 'too many calls are waiting to be released; recovery will release this one');
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
        logger.warn({ err: error, holds: abandoned.length }, 'failed to release calls; retrying');
        if (isClosing) break;
      }
    }
    // Set synchronously after the check of the list, so that a call that is abandoned later starts another round.
    releasing = null;
  }

  return {
    async admit(request) {
      try {
        return await admissions.submit(request);
      } catch (error) {
        // Nothing is reserved if the request was not started or its values were refused. After a lost connection, this is unknown.
        if (!(error instanceof NotBegunError) && !isItemFault(error)) abandon(request);
        throw error;
      }
    },
    end: (outcome) => ends.submit(outcome),
    abandon,
    async drain() {
      isClosing = true;
      await admissions.drain();
      await ends.drain();
      await releasing;
    },
  };
}
