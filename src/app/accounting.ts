import { join } from 'node:path';
import { createEndedKeyStore } from '../accounting/accounts/ended-key-store.ts';
import { createKeyLimitStore } from '../accounting/accounts/key-limit-store.ts';
import { createKeyReplacementStore } from '../accounting/accounts/key-replacement-store.ts';
import { createKeySearchStore } from '../accounting/accounts/key-search-store.ts';
import { createKeyUseStore } from '../accounting/accounts/key-use-store.ts';
import { createKeyUses } from '../accounting/accounts/key-uses.ts';
import { createLooseKeyStore } from '../accounting/accounts/loose-key-store.ts';
import { createLooseLimitStore } from '../accounting/accounts/loose-limit-store.ts';
import { createRateLimitStore } from '../accounting/accounts/rate-limit-store.ts';
import { createAccountStore } from '../accounting/accounts/store.ts';
import { createCallBatches } from '../accounting/batches/call-batches.ts';
import { createBatchStore } from '../accounting/batches/store.ts';
import { createCallsStore } from '../accounting/calls/calls-store.ts';
import { createContinuationKeyStore } from '../accounting/continuation/continuation-key-store.ts';
import { createContinuationKeys } from '../accounting/continuation/continuation-keys.ts';
import { createRefundStore } from '../accounting/corrections/refund-store.ts';
import { createResolutionStore } from '../accounting/corrections/resolution-store.ts';
import { createLedgerStore } from '../accounting/ledger/ledger-store.ts';
import { createSubscriptionStore } from '../accounting/plans/subscriptions-store.ts';
import { type BillingTime, type RunningPeriods, runningPeriods } from '../accounting/pricing/running-periods.ts';
import type { StoredResponseBudget } from '../accounting/repeats/stored-response-budget.ts';
import { createStoredResponseStore } from '../accounting/repeats/stored-response-store.ts';
import { createStoredResponses } from '../accounting/repeats/stored-responses.ts';
import { admissionTerms } from '../accounting/reservations/admission-terms.ts';
import { createInFlightStore } from '../accounting/reservations/in-flight-store.ts';
import { createKeyBudgetStore } from '../accounting/reservations/key-budget-store.ts';
import { createReservations } from '../accounting/reservations/reservations.ts';
import { createReservationStore } from '../accounting/reservations/store.ts';
import { createDropping } from '../accounting/retention/dropping.ts';
import { createRetentionStore } from '../accounting/retention/retention-store.ts';
import { createDatabaseSettlement } from '../accounting/settlement/database-settlement.ts';
import { createRecovery } from '../accounting/settlement/recovery.ts';
import { createSettlement, type SettlementTiming } from '../accounting/settlement/settlement.ts';
import { createSettlementStore } from '../accounting/settlement/store.ts';
import { createRollupStore } from '../accounting/usage/rollup-store.ts';
import { createRollups } from '../accounting/usage/rollups.ts';
import { createStatementStore } from '../accounting/usage/statement-store.ts';
import { createUsageStore } from '../accounting/usage/usage-store.ts';
import { createVoucherStore } from '../accounting/vouchers/vouchers-store.ts';
import type { Config } from '../config/schema.ts';
import type { Database } from '../db/database.ts';
import { isDataError } from '../db/errors.ts';
import { inOneDatabase } from '../db/home-lanes.ts';
import { readDatabaseIdentity } from '../db/identity.ts';
import { createDatabaseClock } from '../db/nodes/database-clock.ts';
import { createNodes } from '../db/nodes/nodes.ts';
import { createNodeStore } from '../db/nodes/nodes-store.ts';
import { probeDatabase } from '../db/nodes/probe-store.ts';
import { createQuestions, type QuestionTiming } from '../db/questions/database-questions.ts';
import type { Disk } from '../journal/disk.ts';
import { openJournal } from '../journal/journal.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { createDrainStore, DRAINS_CHANNEL } from '../providers/routing/drains/drain-store.ts';
import { createDrains } from '../providers/routing/drains/drains.ts';
import { createRefusalsStore } from '../requests/refusals-store.ts';
import type { NodeObservers } from '../telemetry/metrics.ts';
import { auditPace } from './audit-pace.ts';
import { createFinishing, createInSteps } from './in-steps.ts';
import { requestLane } from './lanes.ts';
import type { SettingsInForce } from './settings-in-force.ts';

interface AccountingParts {
  readonly config: Config;
  readonly database: Database;
  readonly settings: SettingsInForce;
  /** The id of this process in its reservations and journals. */
  readonly nodeId: string;
  readonly clock: Clock;
  /** For tests: in place of the database's clock. */
  readonly testDatabaseClock: Clock | undefined;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly disk: Disk;
  /** Of bodies, which stored responses count as. */
  readonly budget: StoredResponseBudget;
  /** For tests: how often usage is summed. */
  readonly usageIntervalMs: number | undefined;
  readonly timing: (SettlementTiming & QuestionTiming) | undefined;
  readonly observers: Pick<NodeObservers, 'admissions' | 'settlementBatch' | 'settlement'>;
}

export type Accounting = Awaited<ReturnType<typeof createAccounting>>;

/**
 * Wires the accounting of a database: stores, reservations, settlement with its journal, and recovery of dead nodes.
 * Nothing of it runs yet.
 *
 * @throws where the journal's directory cannot be used.
 */
export async function createAccounting(parts: AccountingParts) {
  const { config, database, settings, nodeId, clock, testDatabaseClock, ids, logger, disk, budget, observers } = parts;
  // First, because it fails where the data directory cannot be used, and nothing has to be stopped then.
  const directory = await journalDirectory(config, database);
  const journal = await openJournal({ directory, name: nodeId, logger, clock, disk });
  const databaseClock = createDatabaseClock(clock, logger, testDatabaseClock);
  const periods = (): RunningPeriods => runningPeriods(settings.current.localTime, databaseClock.nowMs());
  const time = (): BillingTime => {
    const { localTime } = settings.current;
    return { nowMs: testDatabaseClock?.nowMs() ?? null, periodsAt: (epochMs) => runningPeriods(localTime, epochMs) };
  };
  const questions = createQuestions({
    probe: (signal) => probeDatabase(database, signal),
    logger,
    ...parts.timing,
  });
  const reservationStore = createReservationStore(database, logger);
  const settlementStore = createSettlementStore(database, logger);
  const reservationParts = {
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
    store: createBatchStore(database, logger),
    questions,
    terms: () => admissionTerms(reservationParts),
    onEnded: (call) => reservations.ended(call),
    onLocked: (accountId) => logger.warn({ accountId }, 'the row of an account is locked; its calls wait apart'),
    observer: {
      admissions: (count, tookMs) => observers.admissions?.batch(count, tookMs),
      ends: (count, tookMs) => observers.settlementBatch?.(count, tookMs),
    },
  });
  const storedResponseStore = createStoredResponseStore(database);
  const reservations = createReservations({
    store: reservationStore,
    questions,
    ...reservationParts,
    admissions: batches.admissions,
    logger,
    observer: observers.admissions,
  });
  const storedResponses = createStoredResponses({
    store: storedResponseStore,
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
  const databaseSettlement = createDatabaseSettlement({
    batches,
    storedResponses,
  });
  const settlement = createSettlement({
    database: databaseSettlement,
    journal,
    budget,
    isDataFault: isDataError,
    logger,
    onEnd: observers.settlement,
    ...parts.timing,
  });
  let callsUnresolved = 0;
  const resolveDeadCalls = createRecovery({
    reservations: reservationStore,
    settlement: settlementStore,
    nodeId,
    time,
    recoverJournals: () => settlement.recover(),
    logger,
    onUnresolved() {
      callsUnresolved++;
    },
  });
  const balances = requestLane(database.lane('balances'));
  const admin = requestLane(database.lane('admin'));
  const housekeeping = database.lane('housekeeping');
  const plans = () => settings.current.plans;
  return {
    questions,
    databaseClock,
    periods,
    /** For the keys of calls. */
    keys: createAccountStore(database),
    balances: {
      ledger: createLedgerStore(balances),
      subscriptions: createSubscriptionStore(balances),
      keyBudgets: createKeyBudgetStore(balances),
    },
    admin: {
      accounts: createAccountStore(admin),
      refusals: createRefusalsStore(admin),
      looseKeys: createLooseKeyStore(admin),
      looseLimits: createLooseLimitStore(admin),
      keyLimits: createKeyLimitStore(admin),
      keyReplacements: createKeyReplacementStore(admin),
      keySearch: createKeySearchStore(admin),
      keyUses: createKeyUseStore(admin),
      rateLimits: createRateLimitStore(admin),
      ledger: createLedgerStore(admin),
      calls: createCallsStore(admin),
      refunds: createRefundStore(admin),
      inFlight: createInFlightStore(admin),
      resolutions: createResolutionStore(admin),
      subscriptions: createSubscriptionStore(admin),
      usage: createUsageStore(admin),
      statements: createStatementStore(admin),
      vouchers: createVoucherStore(admin),
      ...createInSteps(inOneDatabase(admin), plans),
    },
    drains: createDrains({
      // One read at a time: it never takes the place in which `/readyz` waits.
      store: createDrainStore(database.lane('probes')),
      changes: createDrainStore(admin),
      listen: (onChange) => database.subscribe(DRAINS_CHANNEL, onChange, onChange),
      logger,
    }),
    housekeeping: {
      calls: createCallsStore(housekeeping),
      refusals: createRefusalsStore(housekeeping),
      continuationKeys: createContinuationKeyStore(housekeeping),
      subscriptions: createSubscriptionStore(housekeeping),
      storedResponses: createStoredResponseStore(housekeeping),
      nodes: createNodeStore(housekeeping),
      endedKeys: createEndedKeyStore(inOneDatabase(housekeeping)),
      looseKeys: createLooseKeyStore(housekeeping),
      looseLimits: createLooseLimitStore(housekeeping),
      dropping: createDropping({
        store: createRetentionStore(housekeeping, database.engine),
        keptMs: () => settings.current.config.retention.calls,
        timezone: () => settings.current.config.billing.timezone,
        clock: databaseClock,
        runId: nodeId,
        pace: auditPace(),
        logger,
      }),
    },
    keyUses: createKeyUses({ store: createKeyUseStore(housekeeping), clock }),
    finishing: createFinishing(createInSteps(inOneDatabase(housekeeping), plans), logger),
    rollups: createRollups({
      store: createRollupStore(housekeeping),
      timezone: () => settings.current.config.billing.timezone,
      logger,
      ...(parts.usageIntervalMs !== undefined && { intervalMs: parts.usageIntervalMs }),
    }),
    continuationKeys: createContinuationKeys(createContinuationKeyStore(database), questions),
    storedResponses,
    reservations,
    settlement,
    databaseSettlement,
    journal,
    resolveDeadCalls,
    callsUnresolved: () => callsUnresolved,
    nodes: createNodes({
      store: createNodeStore(database),
      nodeId,
      logger,
      clock,
      databaseClock,
      sweep: resolveDeadCalls,
    }),
  };
}

/** A directory of this database alone: nodes of different databases may share a data directory. */
async function journalDirectory({ database: { dataDir } }: Config, database: Database): Promise<string> {
  return join(dataDir, 'journal', await readDatabaseIdentity(database));
}
