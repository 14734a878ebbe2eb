import { isDataError } from '../db/database.ts';
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
   * Ends an admitted call: charges it or gives its hold back, and records it. When it resolves, that is durable. It is
   * safe to repeat.
   *
   * @throws where it was not made durable, or nobody knows whether it was.
   */
  end(outcome: CallOutcome): Promise<EndedCall>;
  /** Resolves when nothing waits for the database any more. */
  drain(): Promise<void>;
}

/** What billing reads from the configuration, each time anew: it may be reloaded. */
export interface BillingTerms {
  readonly localTime: LocalTime;
  readonly defaultDailyCapNano: bigint | null;
}

export interface BillingOptions {
  readonly store: Pick<BillingStore, 'admitHolds' | 'endCalls' | 'releaseHolds'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Identifies this process in its holds, so that another node can tell whose they are. */
  readonly nodeId: string;
  readonly terms: () => BillingTerms;
  readonly retryDelayMs?: number;
  /** Calls that may wait for a statement; one more is refused. */
  readonly waitingItemsMax?: number;
}

export function createBilling(options: BillingOptions): Billing {
  const { store, clock, logger, nodeId, terms } = options;
  const today = (): string => terms().localTime.day(clock.nowMs());

  return createTwoPhase<Hold, Admission, CallOutcome, EndedCall>({
    admit: (holds) =>
      store.admitHolds(holds, { today: today(), defaultDailyCapNano: terms().defaultDailyCapNano, nodeId }),
    end: (outcomes) => store.endCalls(outcomes, today()),
    release: (held) => store.releaseHolds(held),
    isItemFault: isDataError,
    logger,
    retryDelayMs: options.retryDelayMs,
    waitingItemsMax: options.waitingItemsMax,
  });
}
