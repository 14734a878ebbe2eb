import { UNUSED_ROWS_KEPT_DAYS, type UnusedCallerRows } from '../accounting/accounts/caller-budget-store.ts';
import { ENDED_KEYS_KEPT_DAYS, type EndedKeyStore } from '../accounting/accounts/ended-key-store.ts';
import type { CallsStore } from '../accounting/calls/calls-store.ts';
import type { ContinuationKeyStore } from '../accounting/continuation/continuation-key-store.ts';
import { oldestContinuationKey } from '../accounting/continuation/continuation-keys.ts';
import type { SubscriptionStore } from '../accounting/plans/subscriptions-store.ts';
import type { StoredResponseStore } from '../accounting/repeats/stored-response-store.ts';
import type { Dropping } from '../accounting/retention/dropping.ts';
import type { LatencyStore } from '../accounting/usage/latency-store.ts';
import { ROUTE_COSTS_KEPT_DAYS, type RouteCostStore } from '../accounting/usage/route-costs-store.ts';
import { createChangesStore } from '../changes/changes-store.ts';
import type { Config } from '../config/schema.ts';
import type { DirectoryDatabase, DirectoryPool } from '../db/home-pools.ts';
import type { NodeStore } from '../db/nodes/nodes-store.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createAdminTokensStore } from '../people/admin-tokens-store.ts';
import { createLeftUserStore, LEFT_USERS_KEPT_DAYS } from '../people/left-user-store.ts';
import { createLinkStore } from '../people/link-store.ts';
import { createOidcFlowStore } from '../people/oidc-flow-store.ts';
import { createSessionStore } from '../people/session-store.ts';
import type { RefusalsStore } from '../requests/refusals-store.ts';

/** A regular task. It must not hold locks for which other transactions wait long. */
interface HousekeepingTask {
  /** Name in the log. */
  readonly name: string;
  /** Partition of the task; absent: it is for the directory or the node. Tasks of one partition run one at a time. */
  readonly partition?: number;
  /** Whether the task is tried once before the first call. */
  readonly isBeforeCalls?: boolean;
  /** Runs the task. Returns false if work is left; other results are ignored. It must end early when the signal aborts. */
  run(signal: AbortSignal): Promise<unknown>;
}

interface HousekeepingOptions {
  readonly tasks: readonly HousekeepingTask[];
  readonly logger: Logger;
  readonly timing?: HousekeepingTiming;
}

interface HousekeepingTiming {
  /** Delay of the first round, which would otherwise compete with the first calls for the database. */
  readonly startDelayMs?: number;
  readonly roundMs?: number;
  readonly retryMs?: number;
}

const START_DELAY_MS = 5_000;
const ROUND_MS = 3_600_000;
const RETRY_MS = 30_000;

/** Returns when a task runs again. After each failure in a row, the delay doubles, up to the usual interval. */
export function nextRunInMs(
  failures: number,
  { roundMs, retryMs }: Required<Omit<HousekeepingTiming, 'startDelayMs'>>,
): number {
  return failures === 0 ? roundMs : Math.min(roundMs, retryMs * 2 ** (failures - 1));
}

interface Scheduled {
  readonly task: HousekeepingTask;
  failures: number;
  timer: NodeJS.Timeout | undefined;
}

/** Runs tasks every hour. A failure is logged once and the task is retried sooner; it affects no other task and never prevents a start. */
export class Housekeeping {
  readonly #all: readonly Scheduled[];
  readonly #logger: Logger;
  readonly #startDelayMs: number;
  readonly #times: Required<Omit<HousekeepingTiming, 'startDelayMs'>>;
  readonly #stopping = new AbortController();
  /** Last run in each partition. Tasks of one partition run one after another, because they share a connection pool. */
  readonly #last = new Map<number, Promise<void>>();
  #startTimer: NodeJS.Timeout | undefined;

  constructor({ tasks, logger, timing = {} }: HousekeepingOptions) {
    this.#all = tasks.map((task) => ({ task, failures: 0, timer: undefined }));
    this.#logger = logger;
    this.#startDelayMs = timing.startDelayMs ?? START_DELAY_MS;
    this.#times = { roundMs: timing.roundMs ?? ROUND_MS, retryMs: timing.retryMs ?? RETRY_MS };
  }

  /** Runs the tasks that must precede the first call, and schedules the others. Never throws. */
  async start(): Promise<void> {
    await this.#runAll(this.#all.filter(({ task }) => task.isBeforeCalls));
    const others = this.#all.filter(({ task }) => !task.isBeforeCalls);
    this.#startTimer = setTimeout(() => void this.#runAll(others), this.#startDelayMs);
    this.#startTimer.unref();
  }

  async round(): Promise<void> {
    clearTimeout(this.#startTimer);
    await this.#runAll(this.#all);
  }

  /** Stops. Resolves when no task runs any more. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#startTimer);
    for (const { timer } of this.#all) clearTimeout(timer);
    await Promise.all(this.#last.values());
  }

  async #runAll(those: readonly Scheduled[]): Promise<void> {
    await Promise.all(those.map((each) => this.#run(each)));
  }

  #run(each: Scheduled): Promise<void> {
    const { partition = 0 } = each.task;
    const running = (this.#last.get(partition) ?? Promise.resolve()).then(async () => {
      clearTimeout(each.timer);
      if (this.#stopping.signal.aborted) return;
      await this.#attempt(each);
      if (this.#stopping.signal.aborted) return;
      each.timer = setTimeout(() => void this.#run(each), nextRunInMs(each.failures, this.#times));
      each.timer.unref();
    });
    this.#last.set(partition, running);
    return running;
  }

  async #attempt(each: Scheduled): Promise<void> {
    const { name } = each.task;
    try {
      if ((await each.task.run(this.#stopping.signal)) === false)
        throw new Error('rows that the task needs are locked');
      if (each.failures > 0) this.#logger.info({ task: name }, 'a housekeeping task succeeded again');
      each.failures = 0;
    } catch (error) {
      if (each.failures === 0) this.#logger.warn({ err: error, task: name }, 'a housekeeping task failed; retrying');
      each.failures++;
    }
  }
}

interface PartitionStores {
  readonly calls: Pick<CallsStore, 'prepareMonths' | 'summariseRequestIds'>;
  readonly continuationKeys: Pick<ContinuationKeyStore, 'deleteBefore'>;
  readonly subscriptions: Pick<SubscriptionStore, 'forgetSlots'>;
  readonly storedResponses: Pick<StoredResponseStore, 'forgetExpired'>;
  readonly latency: Pick<LatencyStore, 'deleteBefore'>;
  readonly routeCosts: Pick<RouteCostStore, 'deleteBefore'>;
  readonly callerRows: UnusedCallerRows;
  readonly dropping: Dropping;
}

interface HousekeepingDependencies {
  /** This node's estimate of the database's clock. */
  readonly databaseClock: Clock;
  /** For tests: replaces the database's clock. */
  readonly testDatabaseClock: Clock | undefined;
  /** Stores by partition number. */
  readonly partitions: readonly PartitionStores[];
  readonly nodes: Pick<NodeStore, 'forget'>;
  readonly endedKeys: EndedKeyStore;
  /** Whether the database has partitions that this process has not opened. */
  readonly hasUnopenedPartitions: () => boolean;
  readonly refusals: Pick<RefusalsStore, 'deleteBefore'>;
  readonly directory: Pick<DirectoryDatabase, 'pool'>;
  readonly clock: Clock;
  /** Retention times in milliseconds. */
  readonly retention: () => Config['retention'];
  /** Adapts the budgets of request bodies to the available memory and disk space. */
  readonly setBodyBudgets: () => Promise<void>;
}

const DAY_MS = 86_400_000;

export function housekeepingTasks(deps: HousekeepingDependencies): HousekeepingTask[] {
  const { databaseClock, partitions } = deps;
  const pool = deps.directory.pool('housekeeping');
  const changes = createChangesStore(pool);
  const testNowMs = (): number | null => deps.testDatabaseClock?.nowMs() ?? null;
  /** Creates a task for each partition, so that each one fails and is retried alone. */
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
    { name: 'memory budgets of request bodies', isBeforeCalls: true, run: deps.setBodyBudgets },
    // Without a table for its month, a call record would go to the default partition and stay there.
    ...inEach('monthly tables of call records', ({ calls }) => calls.prepareMonths(new Date(databaseClock.nowMs())), {
      isBeforeCalls: true,
    }),
    ...inEach('summaries of request ids', ({ calls }) => calls.summariseRequestIds(new Date(databaseClock.nowMs()))),
    ...inEach('continuation keys', ({ continuationKeys }, signal) =>
      continuationKeys.deleteBefore(oldestContinuationKey(databaseClock.nowMs()), signal),
    ),
    ...inEach('expired slots of plans', ({ subscriptions }, signal) => subscriptions.forgetSlots(testNowMs(), signal)),
    ...inEach('stored responses', ({ storedResponses }, signal) => storedResponses.forgetExpired(testNowMs(), signal)),
    ...inEach('latency of routes', ({ latency }, signal) =>
      latency.deleteBefore(databaseClock.nowMs() - deps.retention().latency, signal),
    ),
    ...inEach('costs of routes', ({ routeCosts }, signal) =>
      routeCosts.deleteBefore(databaseClock.nowMs() - ROUTE_COSTS_KEPT_DAYS * DAY_MS, signal),
    ),
    ...inEach('unused counters of end users and tags', ({ callerRows }, signal) =>
      callerRows.deleteBefore(databaseClock.nowMs() - UNUSED_ROWS_KEPT_DAYS * DAY_MS, signal),
    ),
    {
      name: 'refusals',
      run: (signal) => deps.refusals.deleteBefore(databaseClock.nowMs() - deps.retention().refusals, signal),
    },
    {
      name: 'audit log',
      run: (signal) => changes.deleteBefore(databaseClock.nowMs() - deps.retention().changes, signal),
    },
    { name: 'dead nodes', run: () => deps.nodes.forget() },
    {
      name: 'ended keys',
      // A node must have opened all partitions to know whether a key is still referenced.
      run: async (signal) =>
        deps.hasUnopenedPartitions()
          ? undefined
          : deps.endedKeys.forgetEndedBefore(databaseClock.nowMs() - ENDED_KEYS_KEPT_DAYS * DAY_MS, signal),
    },
    // Last, because its first run may take long.
    ...inEach('call records of past months', ({ dropping }, signal) => dropping.run(signal)),
    ...peopleTasks(pool, deps.clock),
  ];
}

function peopleTasks(pool: DirectoryPool, clock: Clock): HousekeepingTask[] {
  // Session times do not matter here: this store only deletes.
  const sessions = createSessionStore(pool, () => ({ idleMs: 0, maxMs: 0 }));
  const links = createLinkStore(pool);
  const flows = createOidcFlowStore(pool);
  const leftUsers = createLeftUserStore(pool);
  const tokens = createAdminTokensStore(pool);
  return [
    { name: 'expired sessions', run: (signal) => sessions.deleteExpired(clock.nowMs(), signal) },
    { name: 'expired links', run: (signal) => links.deleteExpired(clock.nowMs(), signal) },
    { name: 'abandoned sign-ins', run: (signal) => flows.deleteExpired(clock.nowMs(), signal) },
    {
      name: 'users and tokens of expired tokens',
      async run() {
        const nowMs = clock.nowMs();
        for (const id of await tokens.listEnded(nowMs)) await tokens.revoke(id, new Date(nowMs), false);
      },
    },
    {
      name: 'users who have left',
      run(signal) {
        const nowMs = clock.nowMs();
        return leftUsers.forgetLeftBefore(nowMs - LEFT_USERS_KEPT_DAYS * DAY_MS, nowMs, signal);
      },
    },
  ];
}
