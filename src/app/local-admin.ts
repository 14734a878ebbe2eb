import { randomBytes, randomFillSync } from 'node:crypto';
import { auditLedger } from '../accounting/audit/audit-store.ts';
import { createAccountPartitionStore } from '../accounting/partitions/account-partition-store.ts';
import type { PlacedLanes } from '../accounting/partitions/placed-lanes.ts';
import { createPlacement } from '../accounting/partitions/placement.ts';
import { createKnownPartitions, createRoutes } from '../accounting/partitions/routes.ts';
import { compilePlans } from '../accounting/plans/plan.ts';
import { createLocalTime } from '../accounting/pricing/local-time.ts';
import { runningPeriods } from '../accounting/pricing/running-periods.ts';
import { type AdminClient, localAdminClient } from '../api/management/admin-client.ts';
import { createGuard } from '../api/management/guard.ts';
import { registerAdmin } from '../api/registers/admin.ts';
import { createChangeLog } from '../changes/change-log.ts';
import { createChangesStore } from '../changes/changes-store.ts';
import { ConfigLoads } from '../config/loads.ts';
import type { Config } from '../config/schema.ts';
import type { PartitionedDatabases } from '../db/home-lanes.ts';
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
import { RouteHealth } from '../providers/routing/health.ts';
import { exportDatabase } from '../transfer/export.ts';
import { createAccountDomain } from './account-domain.ts';
import { createPartitionAdmin, createPlacedAdmin, joinPartitionAdmins } from './admin-stores.ts';
import { auditPace } from './audit-pace.ts';
import { createGuesses } from './guesses.ts';
import { namedPartition, requestLane } from './lanes.ts';
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
  databases: PartitionedDatabases,
  logger: Logger,
  configLoads = new ConfigLoads(null, {}, systemClock),
  localUser: string | null = null,
): LocalAdmin {
  const { directory, partitions } = databases;
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
  const placed = createAccountPartitionStore(directory);
  // The command waits for as long as the database takes.
  const known = createKnownPartitions(placed, { ask: (question) => question(new AbortController().signal) });
  const lanes: PlacedLanes = {
    directory: requestLane(directory),
    partitions: createRoutes(partitions, known).map((partition, number) =>
      requestLane(partition, namedPartition(number, partitions.length)),
    ),
  };
  const currentPlans = () => plans;
  const stores = {
    ...joinPartitionAdmins(lanes.partitions.map(createPartitionAdmin)),
    ...createPlacedAdmin(lanes, currentPlans, createPlacement(partitions.length, placed, clock)),
  };
  const databaseNowMs = () => stores.subscriptions.nowMs();
  const drainStore = createDrainStore(directory);
  const adminTokens = createAdminTokensStore(directory);
  const changes = createChangesStore(directory);
  const token = randomBytes(24).toString('base64url');
  const { failures, probeAfter } = config.routing.breaker;
  const limits = { addresses: createClientAddresses([]), brake: new RefusalBrake(() => performance.now()) };
  const guesses = createGuesses(() => performance.now());
  const people = createPeople({
    directory,
    config: () => config,
    ownUrl: () => ownUrl(app, config.server),
    addresses: limits.addresses,
    clock,
    monotonicMs: () => performance.now(),
    guesses,
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
      webhooks: createLocalWebhooks(config, lanes, clock, ids),
      lowBalanceNano: () => config.notices.lowBalanceYuan ?? null,
      health: new RouteHealth(clock, () => ({ failuresMax: failures, probeAfterMs: probeAfter })),
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
      localTime: () => localTime,
      timezone: () => config.billing.timezone,
      periods: () => runningPeriods(localTime, clock.nowMs()),
      // On a server gateways may run beside it.
      auditLedger: (given) => auditLedger(databases, { ...given, pace: auditPace() }),
      exportDatabase: () => exportDatabase({ directory: databases.directory, schema: schemaVersion(), clock }),
    },
    createGuard({ tokens: [token], localToken: token, readers: [] }, limits),
    // The operator is at this terminal.
    {
      ...limits,
      changes: createChangeLog({ store: changes, clock, ids, logger }),
      changeCounts: guesses.changes,
      onChange: () => undefined,
      checksResponses: false,
      shares: null,
      bodyBudgets: null,
    },
  );
  return { client: localAdminClient(app, token, localUser), close: () => app.close() };
}
