import { isDataError } from '../db/database.ts';
import { withoutResults } from '../lib/batcher.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createTwoPhase, type TwoPhase } from '../lib/two-phase.ts';
import type { CodingCall, CodingVerdict, EndedCodingCall } from './coding-call.ts';
import type { PlanTerms } from './plan.ts';
import type { PlanStore } from './store.ts';

/** Admissions and ends of coding calls, coalesced; see `README.md` beside this file. */
export type Plans = TwoPhase<CodingCall, CodingVerdict, EndedCodingCall>;

export interface PlansOptions {
  readonly store: PlanStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodeId: string;
  /** The plans in force; the same list as long as the configuration is the same. */
  readonly plans: () => readonly PlanTerms[];
  readonly retryDelayMs?: number;
}

export function createPlans(options: PlansOptions): Plans {
  const { store, clock, logger, nodeId, plans } = options;
  return createTwoPhase<CodingCall, CodingVerdict, EndedCodingCall>({
    admit: (batch) => store.admitCalls(batch, { plans: plans(), now: new Date(clock.nowMs()), nodeId }),
    end: withoutResults((batch) => store.endCalls(batch)),
    // An end that does not count gives everything back; it waits for an admission that is still under way.
    release: (held) => store.endCalls(held.map((call) => ({ ...call, counts: false, tokens: 0 }))),
    isItemFault: isDataError,
    logger,
    retryDelayMs: options.retryDelayMs,
  });
}
