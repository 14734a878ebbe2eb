import { setTimeout as delay } from 'node:timers/promises';
import { type Batch, ItemBatcher, type ItemLimit } from './batcher.ts';
import { NotBegunError } from './batcher-errors.ts';
import type { Logger } from './logger.ts';

/** A call and its account: the key of what it may have taken. */
export interface HeldCall {
  readonly accountId: string;
  readonly callId: string;
}

/**
 * Calls that take something before they run and give it back or complete it at their end, such as the claim of an
 * idempotency key. Both are coalesced into batches, and the database may be down:
 *
 * - an admission that fails leaves nothing behind: if its outcome is unknown, a release is repeated in the
 *   background until it succeeds;
 * - an end is tried once and is safe to repeat. The caller decides what to do when it fails (`accounting/settlement`).
 */
interface TwoPhase<Request extends HeldCall, Verdict, Outcome extends HeldCall, Ended = void> {
  /** @throws if the outcome is unknown or the values are refused; nothing is left behind. */
  admit(request: Request): Promise<Verdict>;
  /** @throws if the end was not made durable, or it is unknown whether it was. */
  end(outcome: Outcome): Promise<Ended>;
  /** Releases, in the background, whatever a call may have taken. */
  abandon(call: HeldCall): void;
  /** Resolves when nothing waits for the database any more. */
  drain(): Promise<void>;
}

export interface TwoPhaseOptions<Request extends HeldCall, Verdict, Outcome extends HeldCall, Ended> {
  /** One verdict a request, in the same order. All or nothing. */
  readonly admit: (requests: readonly Request[], batch: Batch) => Promise<readonly Verdict[]>;
  /** One result an outcome, in the same order. Safe to repeat. */
  readonly end: (outcomes: readonly Outcome[]) => Promise<readonly Ended[]>;
  /** Releases what calls have taken, if they have taken anything. Safe to repeat. */
  readonly release: (calls: readonly HeldCall[]) => Promise<void>;
  /** Whether an error came from the data of a call rather than from the connection. */
  readonly isItemFault: (error: unknown) => boolean;
  readonly logger: Logger;
  readonly retryDelayMs?: number | undefined;
  /** Calls that may wait for a statement; one more is refused. */
  readonly waitingItemsMax?: number | undefined;
  /** How long an admission may take. */
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

  /** Calls of which it is unknown whether they have taken something. */
  let abandoned: HeldCall[] = [];
  let releasing: Promise<void> | null = null;
  let isClosing = false;

  function abandon({ accountId, callId }: HeldCall): void {
    if (abandoned.length >= waitingItemsMax) {
      logger.error({ accountId, callId }, 'too many calls wait to be released; this one is left for recovery');
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
        logger.warn({ err: error, holds: abandoned.length }, 'failed calls wait to be released');
        if (isClosing) break;
      }
    }
    // Synchronously after the last look at the list, so that a call that is abandoned from now on starts another round.
    releasing = null;
  }

  return {
    async admit(request) {
      try {
        return await admissions.submit(request);
      } catch (error) {
        // Before its turn, and after a refused value, it is certain that nothing was taken; after a lost connection it
        // is not.
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
