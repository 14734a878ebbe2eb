import { randomBytes } from 'node:crypto';
import { auditLedger } from '../accounting/audit/audit-store.ts';
import { createAccountPartitionStore } from '../accounting/partitions/account-partition-store.ts';
import type { PlacedPools } from '../accounting/partitions/placed-pools.ts';
import { createPlacement } from '../accounting/partitions/placement.ts';
import { createKnownPartitions, createRoutes } from '../accounting/partitions/routes.ts';
import { compilePlans } from '../accounting/plans/plan.ts';
import { createLocalTime } from '../accounting/pricing/local-time.ts';
import { runningPeriods } from '../accounting/pricing/running-periods.ts';
import { type AdminClient, localAdminClient } from '../api/management/admin-client.ts';
import { createGuard } from '../api/management/guard.ts';
import { registerAdmin } from '../api/registers/admin.ts';
import { createAuditLog } from '../changes/audit-log.ts';
import { createChangesStore } from '../changes/changes-store.ts';
import { ConfigLoads } from '../config/loads.ts';
import type { NodeConfig } from '../config/node-config.ts';
import { CatalogReader } from '../config/revisions/catalog-reader.ts';
import { findInitialCatalog } from '../config/revisions/initial-catalog.ts';
import { NodeCatalog } from '../config/revisions/node-catalog.ts';
import { createRevisionStore, type RevisionStore } from '../config/revisions/revisions-store.ts';
import { CATALOG_SECTIONS, type Config } from '../config/schema.ts';
import type { SealingKey } from '../config/sealed-secrets/sealing.ts';
import type { PartitionedDatabases } from '../db/home-pools.ts';
import { namedPartition, requestPool } from '../db/request-pool.ts';
import { adminEnvelope } from '../errors/envelopes.ts';
import { ClientAddresses } from '../http/client-address.ts';
import { ownUrl } from '../http/listening.ts';
import { RefusalThrottle } from '../http/refusal-throttle.ts';
import { createHttpServer } from '../http/server.ts';
import { systemClock } from '../lib/clock.ts';
import { createIds } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { systemPace } from '../lib/pace.ts';
import { createAdminTokensStore } from '../people/admin-tokens-store.ts';
import { createCatalog } from '../providers/catalog/catalog.ts';
import { createDrainStore } from '../providers/routing/drains/drain-store.ts';
import { createDrains } from '../providers/routing/drains/drains.ts';
import { RouteHealth } from '../providers/routing/health.ts';
import { createAdminParts, createPlacedAdmin, createSealedSecretParts } from './admin-parts.ts';
import { createGuesses } from './guesses.ts';
import { joinPartitionAdmins } from './joined-partitions.ts';
import { createLocalNotify, createLocalWebhooks } from './notices.ts';
import { createPartitionAdmin } from './partition-accounting.ts';
import { createPeople } from './people.ts';
import { createPriceSource } from './price-source.ts';

interface LocalAdmin {
  readonly client: AdminClient;
  close(): Promise<void>;
}

/**
 * Creates the admin API for a command that opens the database itself: stores and endpoints, which are called without a socket. It does no
 * housekeeping and no recovery, and it does not migrate the schema.
 *
 * @param given the configuration of the command; a catalog in the database is read from there
 * @param localUser user of the command line, for the audit log
 * @param databases must have the schema of this program; `close` leaves them open
 */
export async function createLocalAdmin(
  given: Config,
  databases: PartitionedDatabases,
  logger: Logger,
  configLoads = new ConfigLoads(null, {}, systemClock),
  localUser: string | null = null,
  node: NodeConfig | null = null,
  sealingKeys: () => readonly SealingKey[] = () => [],
): Promise<LocalAdmin> {
  const { directory, partitions } = databases;
  const nodeCatalog = new NodeCatalog(node, given.catalog);
  const catalogReader = new CatalogReader(nodeCatalog, { isServing: false });
  const revisions = createRevisionStore(directory);
  const config = await withCatalogOfDatabase(given, { revisions, catalogReader, node });
  const clock = systemClock;
  const monotonicMs = () => performance.now();
  const ids = createIds(clock);
  const settings = {
    config,
    catalog: createCatalog(config),
    plans: compilePlans(config),
    localTime: createLocalTime(config.billing.timezone),
  };
  const app = createHttpServer({
    clock,
    ids,
    logger,
    isClosing: () => false,
    unknownAddresses: { envelopeOf: () => adminEnvelope, messageFor: () => 'There is nothing at this address.' },
    limits: config.server,
  });
  const placed = createAccountPartitionStore(directory);
  // There is no deadline, because a command can wait for the database.
  const known = createKnownPartitions(placed, { ask: (question) => question(new AbortController().signal) });
  const pools: PlacedPools = {
    directory: requestPool(directory),
    partitions: createRoutes(partitions, known).map((partition, number) =>
      requestPool(partition, namedPartition(number, partitions.length)),
    ),
  };
  const stores = {
    ...joinPartitionAdmins(pools.partitions.map(createPartitionAdmin)),
    ...createPlacedAdmin(pools, () => settings.plans, createPlacement(partitions.length, placed, clock)),
  };
  const drainStore = createDrainStore(directory);
  const changes = createChangesStore(directory);
  const token = randomBytes(24).toString('base64url');
  const { failures, probeAfter } = config.routing.breaker;
  const limits = { addresses: new ClientAddresses([]), throttle: new RefusalThrottle(monotonicMs) };
  const guesses = createGuesses(monotonicMs);
  const adminParts = createAdminParts({
    people: createPeople({
      directory,
      config: () => config,
      ownUrl: () => ownUrl(app, config.server),
      addresses: limits.addresses,
      clock,
      monotonicMs,
      guesses,
      ids,
      logger,
    }),
    stores,
    directory,
    settings: () => settings,
    adminTokens: createAdminTokensStore(directory),
    changes,
    // This process caches no keys. The database notifies running gateways of changed keys and accounts.
    principals: { forget: () => undefined },
    webhooks: createLocalWebhooks(config, pools, clock, ids),
    lowBalanceNano: () => config.notices.lowBalanceYuan ?? null,
    notify: createLocalNotify(config, pools.directory, clock, ids),
    health: new RouteHealth(clock, () => ({ failuresMax: failures, probeAfterMs: probeAfter })),
    drains: createDrains({
      store: drainStore,
      changes: drainStore,
      listen: async () => ({ isConnected: true, close: async () => undefined }),
      logger,
    }),
    ...createSealedSecretParts(directory, sealingKeys, () => config),
    configStatus: () => configLoads.status,
    nodeId: null,
    nodeCatalog,
    catalogReader,
    revisions,
    priceSource: createPriceSource({
      node: 'command line',
      pool: directory,
      revisions,
      reader: catalogReader,
      nodeCatalog,
      config: () => config,
      logger,
    }),
    unpricedUses: () => [],
    // The list is empty, because only a process that calls providers knows which credentials work.
    credentialsOf: () => [],
    limits: () => [],
    clock,
    ids,
    databaseNowMs: () => stores.subscriptions.nowMs(),
    periods: () => runningPeriods(settings.localTime, clock.nowMs()),
    // Pauses between its steps, because gateways may be using the database.
    auditLedger: (given) => auditLedger(databases, { ...given, pace: systemPace() }),
  });
  registerAdmin(app, adminParts, createGuard({ tokens: [token], localToken: token, readers: [] }, limits), {
    ...limits,
    changes: createAuditLog({ store: changes, clock, ids, logger }),
    changeCounts: guesses.changes,
    // Does nothing: the operator at this terminal sees the change.
    onChange: () => undefined,
    checksResponses: false,
    shares: null,
    bodyBudgets: null,
  });
  return { client: localAdminClient(app, token, localUser), close: () => app.close() };
}

interface CatalogSources {
  readonly revisions: RevisionStore;
  readonly catalogReader: CatalogReader;
  readonly node: NodeConfig | null;
}

/**
 * Returns the configuration with the revision in force, or with the initial catalog if there is none yet. If the text is not valid on this
 * machine, the command has no models and plans.
 */
async function withCatalogOfDatabase(
  config: Config,
  { revisions, catalogReader, node }: CatalogSources,
): Promise<Config> {
  if (config.catalog === 'file') return config;
  const { current } = await revisions.latest();
  const catalog = current ?? (node && findInitialCatalog(config, node.file));
  const whole = catalog === null ? null : catalogReader.read(catalog.text);
  if (whole === null) return config;
  return { ...config, ...Object.fromEntries(CATALOG_SECTIONS.map((name) => [name, whole[name]])) };
}
