import { isDataError, isUniqueViolation } from '../db/database.ts';
import { BatcherFullError, createBatcher } from '../lib/batcher.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { LocalTime } from '../pricing/local-time.ts';
import type { AdmissionVerdict, CallOutcome, Hold } from './holds.ts';
import type { BillingStore } from './store.ts';

/**
 * Holds and their ends, coalesced. See `README.md` beside this file for the model and its invariants.
 */
export interface Billing {
  /**
   * Sets the money of a call aside. When it answers `admitted`, the hold is durable.
   *
   * @throws where the database cannot say; no hold is left behind then.
   */
  admit(hold: Hold): Promise<AdmissionVerdict>;
  /**
   * Ends an admitted call: charges it or gives its hold back. When it resolves, that is durable. A database that is away
   * is tried again until `endTimeoutMs` has passed; after that the hold is released in the background.
   *
   * @throws where the end could not be made durable in time.
   */
  end(outcome: CallOutcome): Promise<void>;
  /**
   * Gives back the holds that an earlier process left behind. Only for a database that has one owner: on a shared one they
   * may be those of another node's calls in flight.
   */
  releaseLeftHolds(): Promise<void>;
  /** Resolves when nothing waits for the database any more. */
  drain(): Promise<void>;
}

/** What billing reads from the configuration, each time anew: it may be reloaded. */
export interface BillingTerms {
  readonly localTime: LocalTime;
  readonly defaultDailyCapNano: bigint | null;
}

type HeldCall = Pick<Hold, 'accountId' | 'callId'>;

export interface BillingOptions {
  readonly store: BillingStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Identifies this process in its holds, so that another node can tell whose they are. */
  readonly nodeId: string;
  readonly terms: () => BillingTerms;
  readonly endTimeoutMs?: number;
  readonly retryDelayMs?: number;
  /** Calls that may wait for a statement; one more is refused. */
  readonly waitingItemsMax?: number;
}

const BATCH_ITEMS_MAX = 256;
const WAITING_ITEMS_MAX = 50_000;

export function createBilling(options: BillingOptions): Billing {
  const { store, clock, logger, nodeId, terms } = options;
  const endTimeoutMs = options.endTimeoutMs ?? 5_000;
  const retryDelayMs = options.retryDelayMs ?? 200;
  const waitingItemsMax = options.waitingItemsMax ?? WAITING_ITEMS_MAX;
  const today = (): string => terms().localTime.day(clock.nowMs());

  const admissions = createBatcher<Hold, AdmissionVerdict>({
    run: (holds) =>
      store.admitHolds(holds, { today: today(), defaultDailyCapNano: terms().defaultDailyCapNano, nodeId }),
    isItemFault: isDataError,
    batchItemsMax: BATCH_ITEMS_MAX,
    waitingItemsMax,
  });

  const ends = createBatcher<CallOutcome, void>({
    async run(outcomes) {
      await store.endCalls(outcomes, today());
      return outcomes.map(() => undefined);
    },
    isItemFault: isDataError,
    batchItemsMax: BATCH_ITEMS_MAX,
    waitingItemsMax,
  });

  /** Ends that are not durable yet, those between two attempts included. */
  const unended = new Set<Promise<void>>();

  /** Calls whose admission or end failed, so that a hold may be left. */
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
        await store.releaseHolds(batch);
        abandoned = abandoned.slice(batch.length);
      } catch (error) {
        logger.warn({ err: error, holds: abandoned.length }, 'holds of failed calls wait to be released');
        if (isClosing) break;
      }
    }
    // In the same breath as the last look at the list, so that what is abandoned from now on starts another round.
    releasing = null;
  }

  async function end(outcome: CallOutcome): Promise<void> {
    const deadlineMs = clock.nowMs() + endTimeoutMs;
    for (let delayMs = retryDelayMs; ; delayMs *= 2) {
      try {
        return await ends.submit(outcome);
      } catch (error) {
        // A charge that was made while this one waited for the account's lock is seen the next time.
        const isFinal = isDataError(error) && !isUniqueViolation(error);
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
    async admit(hold) {
      try {
        return await admissions.submit(hold);
      } catch (error) {
        // A full queue and a refused value say for certain that no hold was made; a lost connection does not.
        if (!(error instanceof BatcherFullError) && !isDataError(error)) abandon(hold);
        throw error;
      }
    },
    async end(outcome) {
      const ending = end(outcome);
      unended.add(ending);
      try {
        await ending;
      } finally {
        unended.delete(ending);
      }
    },
    async releaseLeftHolds() {
      const left = await store.listHolds();
      if (left.length === 0) return;
      await store.releaseHolds(left);
      for (const { accountId, callId, model, heldAt, amountNano } of left) {
        const details = { accountId, callId, model, heldAt, amountNano: String(amountNano) };
        logger.warn(
          details,
          'a call was in flight when the last process ended; its hold is given back, nothing is charged',
        );
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
