import { createCallerBudgetStore, createUnusedCallerRows } from '../accounting/accounts/caller-budget-store.ts';
import { createKeyLimitStore, createMemberLimitStore } from '../accounting/accounts/key-limit-store.ts';
import { createKeyUseStore } from '../accounting/accounts/key-use-store.ts';
import { createKeyUses } from '../accounting/accounts/key-uses.ts';
import { createLimitedKeyStore } from '../accounting/accounts/limited-key-store.ts';
import { createLimitedKeys } from '../accounting/accounts/limited-keys.ts';
import { createModelBudgetStore } from '../accounting/accounts/model-budget-store.ts';
import { createRateLimitStore } from '../accounting/accounts/rate-limit-store.ts';
import { createCallBatches } from '../accounting/batches/call-batches.ts';
import { createBatchStore } from '../accounting/batches/store.ts';
import { createCallsStore } from '../accounting/calls/calls-store.ts';
import { createContinuationKeyStore } from '../accounting/continuation/continuation-key-store.ts';
import { createContinuationKeys } from '../accounting/continuation/continuation-keys.ts';
import { createRefundStore } from '../accounting/corrections/refund-store.ts';
import { createResolutionStore } from '../accounting/corrections/resolution-store.ts';
import { createLedgerStore } from '../accounting/ledger/ledger-store.ts';
import { createSubscriptionStore } from '../accounting/plans/subscriptions-store.ts';
import { type BillingTime, runningPeriods } from '../accounting/pricing/running-periods.ts';
import type { StoredResponseBudget } from '../accounting/repeats/stored-response-budget.ts';
import { createStoredResponseStore } from '../accounting/repeats/stored-response-store.ts';
import { createStoredResponses } from '../accounting/repeats/stored-responses.ts';
import { admissionTerms } from '../accounting/reservations/admission-terms.ts';
import { createKeyBudgetStore } from '../accounting/reservations/key-budget-store.ts';
import { createReservations } from '../accounting/reservations/reservations.ts';
import { createReservationStore } from '../accounting/reservations/store.ts';
import { createDropping } from '../accounting/retention/dropping.ts';
import { createRetentionStore } from '../accounting/retention/retention-store.ts';
import { createDatabaseSettlement } from '../accounting/settlement/database-settlement.ts';
import { createRecovery } from '../accounting/settlement/recovery.ts';
import type { SettlementTiming } from '../accounting/settlement/settlement.ts';
import { createSettlementStore } from '../accounting/settlement/store.ts';
import { createLatencyStore } from '../accounting/usage/latency-store.ts';
import { createRollupStore } from '../accounting/usage/rollup-store.ts';
import { createRollups } from '../accounting/usage/rollups.ts';
import { createRouteCostStore } from '../accounting/usage/route-costs-store.ts';
import { createStatementStore } from '../accounting/usage/statement-store.ts';
import type { SettingsInForce } from '../calls/settings-in-force.ts';
import type { HomeDatabases, PartitionPool } from '../db/home-pools.ts';
import type { DatabaseClock } from '../db/nodes/database-clock.ts';
import { probeDatabase } from '../db/nodes/probe-store.ts';
import { createQuestions, type QuestionTiming } from '../db/questions/database-questions.ts';
import { requestPool } from '../db/request-pool.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { systemPace } from '../lib/pace.ts';
import type { NodeObservers } from '../telemetry/metrics.ts';

export interface PartitionAccountingDependencies {
  /** Databases. Of the directory, only the list of dead nodes is read. */
  readonly databases: HomeDatabases;
  /** Partition number for error messages; `null` if there is only one partition. */
  readonly number: number | null;
  readonly settings: SettingsInForce;
  /** Identifies this process in reservations and journals. */
  readonly nodeId: string;
  readonly clock: Clock;
  /** For tests: replaces the database's clock. */
  readonly testDatabaseClock: Clock | undefined;
  readonly databaseClock: DatabaseClock;
  /** Settles records of this partition that are in the journals of dead nodes on this machine. */
  readonly recoverJournals: () => Promise<unknown>;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Budget for stored responses and request bodies. */
  readonly budget: StoredResponseBudget;
  /** For tests. */
  readonly usageIntervalMs: number | undefined;
  readonly timing: (SettlementTiming & QuestionTiming) | undefined;
  readonly observers: Pick<NodeObservers, 'admissions' | 'settlementBatch'>;
}

export type PartitionAccounting = ReturnType<typeof createPartitionAccounting>;

/** Creates what calls of a partition need, from admission to settlement, with deadlines of queries, recovery and stores. Starts nothing. */
export function createPartitionAccounting(deps: PartitionAccountingDependencies) {
  const { databases, settings, nodeId, clock, testDatabaseClock, databaseClock, ids, logger, budget, observers } = deps;
  const { partition } = databases;
  const time = (): BillingTime => {
    const { localTime } = settings.current;
    return { nowMs: testDatabaseClock?.nowMs() ?? null, periodsAt: (epochMs) => runningPeriods(localTime, epochMs) };
  };
  const questions = createQuestions({
    probe: (signal) => probeDatabase(partition, signal),
    logger,
    ...deps.timing,
  });
  const reservationStore = createReservationStore(databases, logger);
  const settlementStore = createSettlementStore(partition, logger);
  const reservationTerms = {
    testClock: testDatabaseClock,
    nodeId,
    terms: () => ({
      localTime: settings.current.localTime,
      defaultDailyCapNano: settings.current.config.billing.dailySpendCapYuan ?? null,
      plans: settings.current.plans,
      rateDefaults: settings.current.rateDefaults,
    }),
  };
  const batches = createCallBatches({
    store: createBatchStore(partition, logger),
    questions,
    terms: () => admissionTerms(reservationTerms),
    onEnded: (call) => reservations.ended(call),
    onLocked: (accountId) =>
      logger.warn({ accountId }, 'the row of an account is locked; only calls of this account wait'),
    observer: {
      admissions: (count, tookMs) => observers.admissions?.batch(count, tookMs),
      ends: (count, tookMs) => observers.settlementBatch?.(count, tookMs),
    },
  });
  const reservations = createReservations({
    store: reservationStore,
    questions,
    ...reservationTerms,
    admissions: batches.admissions,
    logger,
    observer: observers.admissions,
  });
  const storedResponses = createStoredResponses({
    store: createStoredResponseStore(partition),
    budget,
    questions,
    testClock: testDatabaseClock,
    ids,
    logger,
    terms: () => {
      const { keepFor, answerLimit, accountLimit } = settings.current.config.idempotency;
      return { keptForMs: keepFor, bodyBytesMax: answerLimit, accountBytesMax: accountLimit };
    },
  });
  let callsUnresolved = 0;
  const balances = requestPool(partition.pool('balances'), deps.number);
  const admin = requestPool(partition.pool('admin'), deps.number);
  const housekeeping = partition.pool('housekeeping');
  return {
    questions,
    balances: {
      ledger: createLedgerStore(balances),
      subscriptions: createSubscriptionStore(balances),
      keyBudgets: createKeyBudgetStore(balances),
    },
    admin: createPartitionAdmin(admin),
    housekeeping: {
      calls: createCallsStore(housekeeping),
      continuationKeys: createContinuationKeyStore(housekeeping),
      subscriptions: createSubscriptionStore(housekeeping),
      storedResponses: createStoredResponseStore(housekeeping),
      latency: createLatencyStore(housekeeping),
      routeCosts: createRouteCostStore(housekeeping),
      callerRows: createUnusedCallerRows(housekeeping),
      dropping: createDropping({
        store: createRetentionStore(partition, deps.number ?? 0),
        keptMs: () => settings.current.config.retention.calls,
        timezone: () => settings.current.config.billing.timezone,
        clock: databaseClock,
        pace: systemPace(),
        logger,
      }),
    },
    keyUses: createKeyUses({ store: createKeyUseStore(housekeeping), clock }),
    rollups: createRollups({
      store: createRollupStore(housekeeping, deps.number ?? 0),
      timezone: () => settings.current.config.billing.timezone,
      logger,
      ...(deps.usageIntervalMs !== undefined && { intervalMs: deps.usageIntervalMs }),
    }),
    limitedKeys: createLimitedKeys(createLimitedKeyStore(partition), questions),
    continuationKeys: createContinuationKeys(createContinuationKeyStore(partition), questions),
    storedResponses,
    reservations,
    databaseSettlement: createDatabaseSettlement({ batches, storedResponses }),
    resolveDeadCalls: createRecovery({
      reservations: reservationStore,
      settlement: settlementStore,
      nodeId,
      time,
      recoverJournals: deps.recoverJournals,
      logger,
      onUnresolved() {
        callsUnresolved++;
      },
    }),
    callsUnresolved: () => callsUnresolved,
  };
}

export const createPartitionAdmin = (partition: PartitionPool) => ({
  keyLimits: createKeyLimitStore(partition),
  memberLimits: createMemberLimitStore(partition),
  modelBudgets: createModelBudgetStore(partition),
  callerBudgets: createCallerBudgetStore(partition),
  keyBudgets: createKeyBudgetStore(partition),
  keyUses: createKeyUseStore(partition),
  rateLimits: createRateLimitStore(partition),
  ledger: createLedgerStore(partition),
  calls: createCallsStore(partition),
  refunds: createRefundStore(partition),
  resolutions: createResolutionStore(partition),
  subscriptions: createSubscriptionStore(partition),
  statements: createStatementStore(partition),
  latency: createLatencyStore(partition),
});

export type PartitionAdmin = ReturnType<typeof createPartitionAdmin>;
