import { isDataError, isUniqueViolation } from '../db/database.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createTwoPhase } from '../lib/two-phase.ts';
import type { LocalTime } from '../pricing/local-time.ts';
import type { Admission, CallOutcome, EndedCall, Hold } from './holds.ts';
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
  admit(hold: Hold): Promise<Admission>;
  /**
   * Ends an admitted call: charges it or gives its hold back. When it resolves, that is durable. A database that is away
   * is tried again until `endTimeoutMs` has passed; after that the hold is released in the background.
   *
   * @throws where the end could not be made durable in time.
   */
  end(outcome: CallOutcome): Promise<EndedCall>;
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

export function createBilling(options: BillingOptions): Billing {
  const { store, clock, logger, nodeId, terms } = options;
  const today = (): string => terms().localTime.day(clock.nowMs());

  const calls = createTwoPhase<Hold, Admission, CallOutcome, EndedCall>({
    admit: (holds) =>
      store.admitHolds(holds, { today: today(), defaultDailyCapNano: terms().defaultDailyCapNano, nodeId }),
    end: (outcomes) => store.endCalls(outcomes, today()),
    release: (held) => store.releaseHolds(held),
    isItemFault: isDataError,
    // A charge that was made while this one waited for the account's lock is seen the next time.
    isPassing: isUniqueViolation,
    clock,
    logger,
    endTimeoutMs: options.endTimeoutMs,
    retryDelayMs: options.retryDelayMs,
    waitingItemsMax: options.waitingItemsMax,
  });

  return {
    ...calls,
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
  };
}
