import type { CallsStore } from '../accounting/ledger/calls-store.ts';
import type { SubscriptionStore } from '../accounting/plans/subscriptions-store.ts';
import type { ContinuationKeys } from '../accounting/settlement/continuation-keys.ts';
import type { StoredResponseStore } from '../accounting/settlement/stored-response-store.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

const ROUND_MS = 3_600_000;

export interface MaintenanceParts {
  /** The database's clock, as far as this node knows it. */
  readonly clock: Clock;
  /** For tests: in place of the database's clock. */
  readonly testDatabaseClock: Clock | undefined;
  readonly logger: Logger;
  readonly calls: Pick<CallsStore, 'preparePartitions'>;
  readonly continuationKeys: Pick<ContinuationKeys, 'forgetOld'>;
  readonly subscriptions: Pick<SubscriptionStore, 'forgetSlots'>;
  readonly storedResponses: Pick<StoredResponseStore, 'forgetExpired'>;
  /** Sets the budgets of bodies by the memory and disk that are available now. */
  readonly setBodyBudgets: () => Promise<void>;
}

/** The hourly work of a gateway: it prepares the partitions of call records, and deletes expired rows. */
export interface Maintenance {
  /** Runs one round. @throws where the database is down. */
  round(): Promise<void>;
  stop(): void;
}

/** Starts the hourly rounds; the first one runs after an hour. */
export function startMaintenance(parts: MaintenanceParts): Maintenance {
  const { clock, testDatabaseClock, logger, calls, continuationKeys, subscriptions, storedResponses, setBodyBudgets } =
    parts;

  async function round(): Promise<void> {
    const nowMs = clock.nowMs();
    await setBodyBudgets();
    await calls.preparePartitions(new Date(nowMs));
    await continuationKeys.forgetOld(nowMs);
    const testNowMs = testDatabaseClock?.nowMs() ?? null;
    await subscriptions.forgetSlots(testNowMs);
    await storedResponses.forgetExpired(testNowMs);
  }

  const timer = setInterval(() => {
    round().catch((error: unknown) => logger.error({ err: error }, 'the hourly maintenance failed'));
  }, ROUND_MS);
  timer.unref();
  return { round, stop: () => clearInterval(timer) };
}
