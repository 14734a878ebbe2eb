import { randomBytes, randomFillSync } from 'node:crypto';
import { createKeyLimitStore } from '../accounting/accounts/key-limit-store.ts';
import { createKeyReplacementStore } from '../accounting/accounts/key-replacement-store.ts';
import { createKeySearchStore } from '../accounting/accounts/key-search-store.ts';
import { createKeyUseStore } from '../accounting/accounts/key-use-store.ts';
import { createLooseKeyStore } from '../accounting/accounts/loose-key-store.ts';
import { createLooseLimitStore } from '../accounting/accounts/loose-limit-store.ts';
import { createRateLimitStore } from '../accounting/accounts/rate-limit-store.ts';
import { createAccountStore } from '../accounting/accounts/store.ts';
import { auditLedger } from '../accounting/audit/audit-store.ts';
import { createCallsStore } from '../accounting/calls/calls-store.ts';
import { createRefundStore } from '../accounting/corrections/refund-store.ts';
import { createResolutionStore } from '../accounting/corrections/resolution-store.ts';
import { createLedgerStore } from '../accounting/ledger/ledger-store.ts';
import { placedInOne } from '../accounting/partitions/placed-lanes.ts';
import { compilePlans } from '../accounting/plans/plan.ts';
import { createSubscriptionStore } from '../accounting/plans/subscriptions-store.ts';
import { createLocalTime } from '../accounting/pricing/local-time.ts';
import { runningPeriods } from '../accounting/pricing/running-periods.ts';
import { createInFlightStore } from '../accounting/reservations/in-flight-store.ts';
import { createStatementStore } from '../accounting/usage/statement-store.ts';
import { createUsageStore } from '../accounting/usage/usage-store.ts';
import { createVoucherStore } from '../accounting/vouchers/vouchers-store.ts';
import { type AdminClient, localAdminClient } from '../api/management/admin-client.ts';
import { createGuard } from '../api/management/guard.ts';
import { registerAdmin } from '../api/registers/admin.ts';
import { createChangeLog } from '../changes/change-log.ts';
import { createChangesStore } from '../changes/changes-store.ts';
import { ConfigLoads } from '../config/loads.ts';
import type { Config } from '../config/schema.ts';
import type { HomeDatabases, PartitionedDatabases } from '../db/home-lanes.ts';
import { schemaVersion } from '../db/migrations.ts';
import { adminEnvelope } from '../errors/envelopes.ts';
import { createClientAddresses } from '../http/client-address.ts';
import { ownUrl } from '../http/listening.ts';
import { RefusalBrake } from '../http/refusal-brake.ts';
import { createHttpServer } from '../http/server.ts';
import { systemClock } from '../lib/clock.ts';
import { createIds } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { createAdminTokenMaker } from '../people/admin-token-maker.ts';
import { createAdminTokensStore } from '../people/admin-tokens-store.ts';
import { createCatalog } from '../providers/catalog/catalog.ts';
import { createDrainStore } from '../providers/routing/drains/drain-store.ts';
import { createDrains } from '../providers/routing/drains/drains.ts';
import { createRouteHealth } from '../providers/routing/health.ts';
import { createRefusalsStore } from '../requests/refusals-store.ts';
import { exportDatabase } from '../transfer/export.ts';
import { createExportStore } from '../transfer/export-store.ts';
import { createAccountDomain } from './account-domain.ts';
import { auditPace } from './audit-pace.ts';
import { createGuesses } from './guesses.ts';
import { createInSteps } from './in-steps.ts';
import { createLocalWebhooks } from './notices.ts';
import { createPeople } from './people.ts';

interface LocalAdmin {
  readonly client: AdminClient;
  close(): Promise<void>;
}

/**
 * The admin API for a command that opens the database itself: stores and endpoints, called without a socket. It does no
 * maintenance and no recovery: schema, months of call records, old rows and calls of dead nodes stay as they are.
 *
 * @param localUser who is at the command line, for the change log.
 * @param databases open ones with the schema of this program; `close` leaves them open.
 */
export function createLocalAdmin(
  config: Config,
  databases: HomeDatabases & PartitionedDatabases,
  logger: Logger,
  configLoads = new ConfigLoads(null, {}, systemClock),
  localUser: string | null = null,
): LocalAdmin {
  const { directory, partition } = databases;
  const clock = systemClock;
  const ids = createIds(clock);
  const localTime = createLocalTime(config.billing.timezone);
  const catalog = createCatalog(config);
  const plans = compilePlans(config);
  const app = createHttpServer({
    clock,
    ids,
    logger,
    isClosing: () => false,
    unknownAddresses: { envelopeOf: () => adminEnvelope, messageFor: () => 'There is nothing at this address.' },
    limits: config.server,
  });
  const subscriptions = createSubscriptionStore(partition);
  const [currentPlans, databaseNowMs] = [() => plans, () => subscriptions.nowMs()];
  const stores = {
    accounts: createAccountStore(directory),
    looseKeys: createLooseKeyStore(directory),
    looseLimits: createLooseLimitStore(partition),
    keyLimits: createKeyLimitStore(partition),
    keyReplacements: createKeyReplacementStore(directory),
    rateLimits: createRateLimitStore(partition),
    ledger: createLedgerStore(partition),
    subscriptions,
    ...createInSteps(placedInOne(databases), currentPlans),
  };
  const drainStore = createDrainStore(directory);
  const adminTokens = createAdminTokensStore(directory);
  const changes = createChangesStore(directory);
  const token = randomBytes(24).toString('base64url');
  const { failures, probeAfter } = config.routing.breaker;
  const limits = { addresses: createClientAddresses([]), brake: new RefusalBrake(() => performance.now()) };
  const people = createPeople({
    directory,
    config: () => config,
    ownUrl: () => ownUrl(app, config.server),
    addresses: limits.addresses,
    clock,
    monotonicMs: () => performance.now(),
    guesses: createGuesses(() => performance.now()),
    ids,
    logger,
  });
  registerAdmin(
    app,
    {
      ...people,
      ...stores,
      // The database notifies running gateways of changed keys and accounts.
      ...createAccountDomain(stores, {
        principals: { forget: () => undefined },
        plans: currentPlans,
        databaseNowMs,
        clock,
        ids,
      }),
      adminTokens,
      tokenMaker: createAdminTokenMaker({ store: adminTokens, clock, ids, fillRandom: randomFillSync }),
      changes,
      webhooks: createLocalWebhooks(config, directory, clock, ids),
      lowBalanceNano: () => config.notices.lowBalanceYuan ?? null,
      calls: createCallsStore(partition),
      refusals: createRefusalsStore(directory),
      refunds: createRefundStore(partition),
      inFlight: createInFlightStore(databases),
      resolutions: createResolutionStore(partition),
      keySearch: createKeySearchStore(databases),
      keyUses: createKeyUseStore(partition),
      health: createRouteHealth(clock, () => ({ failuresMax: failures, probeAfterMs: probeAfter })),
      drains: createDrains({
        store: drainStore,
        changes: drainStore,
        listen: async () => ({ isConnected: true, close: async () => undefined }),
        logger,
      }),
      catalog: () => catalog,
      config: () => config,
      configStatus: () => configLoads.status,
      nodeId: null,
      unpricedUses: () => [],
      // Only a process that calls providers learns which of their credentials work.
      credentialsOf: () => [],
      plans: currentPlans,
      clock,
      databaseNowMs,
      ids,
      usage: createUsageStore(databases),
      statements: createStatementStore(partition),
      vouchers: createVoucherStore(directory),
      localTime: () => localTime,
      timezone: () => config.billing.timezone,
      periods: () => runningPeriods(localTime, clock.nowMs()),
      // On a server gateways may run beside it.
      auditLedger: (given) => auditLedger(databases, { ...given, pace: auditPace() }),
      exportDatabase: () => exportDatabase({ store: createExportStore(databases), schema: schemaVersion(), clock }),
    },
    createGuard({ tokens: [token], localToken: token, readers: [] }, limits),
    // The operator is at this terminal.
    {
      ...limits,
      changes: createChangeLog({ store: changes, clock, ids, logger }),
      onChange: () => undefined,
      checksResponses: false,
      shares: null,
      bodyBudgets: null,
    },
  );
  return { client: localAdminClient(app, token, localUser), close: () => app.close() };
}
