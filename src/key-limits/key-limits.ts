import { isDataError } from '../db/database.ts';
import { withoutResults } from '../lib/batcher.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createTwoPhase, type TwoPhase } from '../lib/two-phase.ts';
import type { EndedLimitedCall, KeyLimitStore, LimitedCall, LimitVerdict } from './store.ts';

/** What single keys of an account may use: spending and calls of a day, and calls at the same time. Off by default. */
export type KeyLimiter = TwoPhase<LimitedCall, LimitVerdict, EndedLimitedCall>;

export interface KeyLimiterOptions {
  readonly store: KeyLimitStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodeId: string;
  /** The billing time zone's date, `YYYY-MM-DD`. */
  readonly today: () => string;
  readonly retryDelayMs?: number;
}

export function createKeyLimiter(options: KeyLimiterOptions): KeyLimiter {
  const { store, clock, logger, nodeId, today } = options;
  return createTwoPhase<LimitedCall, LimitVerdict, EndedLimitedCall>({
    admit: (batch) => store.admitCalls(batch, { today: today(), now: new Date(clock.nowMs()), nodeId }),
    end: withoutResults((batch) => store.endCalls(batch, today())),
    release: (held) => store.releaseCalls(held, today()),
    isItemFault: isDataError,
    logger,
    retryDelayMs: options.retryDelayMs,
  });
}
