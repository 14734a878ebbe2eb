import type { CallsStore } from '../accounting/ledger/calls-store.ts';
import type { SubscriptionStore } from '../accounting/plans/subscriptions-store.ts';
import type { ContinuationKeys } from '../accounting/settlement/continuation-keys.ts';
import type { StoredResponseStore } from '../accounting/settlement/stored-response-store.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

const ROUND_MS = 3_600_000;
/** Far longer than its five-hour window. */
const PAST_SUBSCRIPTION_MS = 24 * 3_600_000;

export interface MaintenanceParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly calls: Pick<CallsStore, 'preparePartitions'>;
  readonly continuationKeys: Pick<ContinuationKeys, 'forgetOld'>;
  readonly subscriptions: Pick<SubscriptionStore, 'forgetSlots'>;
  readonly storedResponses: Pick<StoredResponseStore, 'forgetExpired'>;
  /** Looks at the memory and the disk that there are. */
  readonly setBodyBudgets: () => Promise<void>;
}

/** What a gateway does once an hour: it looks ahead for what calls will need, and forgets what nobody needs any more. */
export interface Maintenance {
  /** One round. @throws where the database is down. */
  round(): Promise<void>;
  stop(): void;
}

/** Begins the rounds; the first one is an hour away. */
export function startMaintenance(parts: MaintenanceParts): Maintenance {
  const { clock, logger, calls, continuationKeys, subscriptions, storedResponses, setBodyBudgets } = parts;

  async function round(): Promise<void> {
    const nowMs = clock.nowMs();
    await setBodyBudgets();
    await calls.preparePartitions(new Date(nowMs));
    await continuationKeys.forgetOld(nowMs);
    await subscriptions.forgetSlots(new Date(nowMs - PAST_SUBSCRIPTION_MS));
    await storedResponses.forgetExpired(new Date(nowMs));
  }

  const timer = setInterval(() => {
    round().catch((error: unknown) => logger.error({ err: error }, 'the hourly maintenance failed'));
  }, ROUND_MS);
  timer.unref();
  return { round, stop: () => clearInterval(timer) };
}
