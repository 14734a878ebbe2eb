import { ENDED_KEYS_KEPT_DAYS, type EndedKeyStore } from '../accounting/accounts/ended-key-store.ts';
import type { CallsStore } from '../accounting/calls/calls-store.ts';
import type { ContinuationKeyStore } from '../accounting/continuation/continuation-key-store.ts';
import { oldestContinuationKey } from '../accounting/continuation/continuation-keys.ts';
import type { SubscriptionStore } from '../accounting/plans/subscriptions-store.ts';
import type { StoredResponseStore } from '../accounting/repeats/stored-response-store.ts';
import type { Dropping } from '../accounting/retention/dropping.ts';
import type { LatencyStore } from '../accounting/usage/latency-store.ts';
import type { ChangesStore } from '../changes/changes-store.ts';
import type { Config } from '../config/schema.ts';
import type { NodeStore } from '../db/nodes/nodes-store.ts';
import type { Clock } from '../lib/clock.ts';
import type { RefusalsStore } from '../requests/refusals-store.ts';
import type { HousekeepingTask } from './maintenance.ts';

interface PartitionStores {
  readonly calls: Pick<CallsStore, 'prepareMonths' | 'summariseRequestIds'>;
  readonly continuationKeys: Pick<ContinuationKeyStore, 'deleteBefore'>;
  readonly subscriptions: Pick<SubscriptionStore, 'forgetSlots'>;
  readonly storedResponses: Pick<StoredResponseStore, 'forgetExpired'>;
  readonly latency: Pick<LatencyStore, 'deleteBefore'>;
  readonly dropping: Dropping;
}

interface HousekeepingParts {
  /** The database's clock, as far as this node knows it. */
  readonly clock: Clock;
  /** For tests: in place of the database's clock. */
  readonly testDatabaseClock: Clock | undefined;
  /** What each partition has of its own, by their numbers. */
  readonly partitions: readonly PartitionStores[];
  readonly nodes: Pick<NodeStore, 'forget'>;
  readonly endedKeys: EndedKeyStore;
  /** Whether there are partitions that this process has not opened: what it does not find may be there. */
  readonly isOutgrown: () => boolean;
  readonly refusals: Pick<RefusalsStore, 'deleteBefore'>;
  readonly changes: Pick<ChangesStore, 'deleteBefore'>;
  /** How long records are kept, in milliseconds. */
  readonly retention: () => Config['retention'];
  /** Sets the budgets of bodies by the memory and disk that are available now. */
  readonly setBodyBudgets: () => Promise<void>;
}

const DAY_MS = 86_400_000;

/** What a gateway does every hour: months of call records, and the deletion of what has expired. */
export function housekeepingTasks(parts: HousekeepingParts): HousekeepingTask[] {
  const { clock, partitions, nodes, setBodyBudgets } = parts;
  const testNowMs = (): number | null => parts.testDatabaseClock?.nowMs() ?? null;
  /** A task of each partition, so that each fails, and is tried again, alone. */
  const inEach = (
    name: string,
    run: (stores: PartitionStores, signal: AbortSignal) => Promise<unknown>,
    when: Pick<HousekeepingTask, 'isBeforeCalls'> = {},
  ): HousekeepingTask[] =>
    partitions.map((stores, partition) => ({
      name: partitions.length === 1 ? name : `${name} of partition ${partition}`,
      partition,
      run: (signal) => run(stores, signal),
      ...when,
    }));
  return [
    { name: 'budgets of bodies', isBeforeCalls: true, run: setBodyBudgets },
    // The records of a month without one go to the default, and stay there.
    ...inEach('months of call records', ({ calls }) => calls.prepareMonths(new Date(clock.nowMs())), {
      isBeforeCalls: true,
    }),
    ...inEach('ids of requests', ({ calls }) => calls.summariseRequestIds(new Date(clock.nowMs()))),
    ...inEach('continuation keys', ({ continuationKeys }, signal) =>
      continuationKeys.deleteBefore(oldestContinuationKey(clock.nowMs()), signal),
    ),
    ...inEach('slots of plans', ({ subscriptions }, signal) => subscriptions.forgetSlots(testNowMs(), signal)),
    ...inEach('stored responses', ({ storedResponses }, signal) => storedResponses.forgetExpired(testNowMs(), signal)),
    ...inEach('latency of routes', ({ latency }, signal) =>
      latency.deleteBefore(clock.nowMs() - parts.retention().latency, signal),
    ),
    {
      name: 'refusals',
      run: (signal) => parts.refusals.deleteBefore(clock.nowMs() - parts.retention().refusals, signal),
    },
    {
      name: 'change log',
      run: (signal) => parts.changes.deleteBefore(clock.nowMs() - parts.retention().changes, signal),
    },
    { name: 'nodes that are gone', run: () => nodes.forget() },
    {
      name: 'keys that have ended',
      // A node that has opened all partitions does it.
      run: async (signal) =>
        parts.isOutgrown()
          ? undefined
          : parts.endedKeys.forgetEndedBefore(clock.nowMs() - ENDED_KEYS_KEPT_DAYS * DAY_MS, signal),
    },
    // Last, because the first time it may take long.
    ...inEach('call records of months that are over', ({ dropping }, signal) => dropping.run(signal)),
  ];
}
