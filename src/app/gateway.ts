import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { createPrincipals } from '../accounting/accounts/principals.ts';
import { createRefusals } from '../api/endpoints/refusals.ts';
import { endpointTable, publishedOperations } from '../api/endpoints/table.ts';
import { createUnknownAddresses } from '../api/endpoints/unknown-address.ts';
import { adminTokenWeakness } from '../api/management/guard.ts';
import { createAdmissionQueue } from '../calls/admission-queue.ts';
import { IdempotentCalls } from '../calls/idempotency/idempotent-call.ts';
import { CALL_HEADER_NAMES } from '../calls/relay/call-headers.ts';
import { ABORT_LIMITS } from '../calls/relay/client-abort.ts';
import { createRequestWorkers } from '../calls/request-workers.ts';
import { ConfigLoads } from '../config/loads.ts';
import type { Config } from '../config/schema.ts';
import { checkDemoMark, setDemoMark } from '../db/demo-mark.ts';
import { requireReadableSchema } from '../db/migrate.ts';
import { makePrivateDirectory } from '../db/private-directory.ts';
import { BodyBudgets } from '../http/body-budgets.ts';
import { createClientAddresses } from '../http/client-address.ts';
import { registerCors } from '../http/cors.ts';
import { type ReadReadiness, registerHealth } from '../http/health.ts';
import { addressOf } from '../http/listening.ts';
import { RefusalBrake } from '../http/refusal-brake.ts';
import { createHttpServer } from '../http/server.ts';
import { sweepSpool } from '../http/spool.ts';
import { nodeDisk } from '../journal/disk.ts';
import { systemClock } from '../lib/clock.ts';
import { createIds } from '../lib/ids.ts';
import { WHOLE } from '../lib/part.ts';
import { CONSOLE_PATH } from '../people/console-path.ts';
import { allRoutes } from '../providers/catalog/catalog.ts';
import { createPublicCatalog } from '../providers/catalog/public-catalog.ts';
import { RouteHealth } from '../providers/routing/health.ts';
import { createReports } from '../requests/request-report.ts';
import { UnpricedUses } from '../requests/unpriced-uses.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import type { MetricsReport } from '../telemetry/summed-metrics.ts';
import { createTraces } from '../telemetry/traces.ts';
import { type Accounting, createAccounting } from './accounting.ts';
import { setBodyBudgets } from './body-limits.ts';
import { logBreakers } from './breaker-log.ts';
import { createChanges } from './changes.ts';
import { closeParts } from './closing.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { createGuesses } from './guesses.ts';
import { housekeepingTasks } from './housekeeping.ts';
import { createMaintenance, type Maintenance } from './maintenance.ts';
import { serveManagementApis } from './management-apis.ts';
import type { NodeParts } from './node-parts.ts';
import { createNodeStatus } from './node-status.ts';
import type { Notices } from './notices.ts';
import { openPartitions } from './opened-partitions.ts';
import { peopleHousekeeping } from './people.ts';
import { createQuerySources } from './query-sources.ts';
import { createRequestObservers } from './request-observers.ts';
import { serveEndpoints } from './served-endpoints.ts';
import { serveMetrics } from './served-metrics.ts';
import { SettingsInForce } from './settings-in-force.ts';
import { recoverAndStart } from './startup.ts';
import { configOfWorker, refusalsRecorded, requestWorkerLimits } from './worker-limits.ts';

/** A wired gateway. It serves no socket until `listen`. */
export interface Gateway {
  /** The HTTP side; `inject` reaches every address without a socket. */
  readonly app: FastifyInstance;
  /** Starts to serve and returns the address, such as `http://127.0.0.1:8080`. */
  listen(): Promise<string>;
  /** The id of this process in reservations, journals and logs. */
  readonly nodeId: string;
  /** Where metrics are served without a token; `null` before `listen`, and where the configuration has no such address. */
  readonly metricsUrl: string | null;
  /** How many calls of an account wait in the admission queue of this node. */
  callsWaiting(accountId: string): number;
  /** Applies another configuration to calls that begin from now on. Address and database stay the same. */
  reload(config: Config): void;
  /** Tries the credentials of providers again that were refused, as a reload does, if the configuration is the same. */
  retryCredentials(): void;
  /**
   * Makes `/readyz` respond with 503, while calls are served as before, and returns how long load balancers get to notice it.
   */
  announceClose(): { readonly drainDelayMs: number };
  /** What the primary asks of a worker: its own part of what is served for all. */
  readonly own: { readonly report: () => Promise<MetricsReport>; readonly readReadiness: ReadReadiness };
  /** Looks for what is due to be told, and sends it. For tests. */
  readonly notices: Pick<Notices, 'settle'>;
  /** Does what is done every hour. For tests. */
  readonly housekeeping: Pick<Maintenance, 'round'>;
  /** The configuration file was read: whether what it says is in force. For metrics. */
  configDecided(isInForce: boolean): void;
  /** Refuses new calls, awaits those in flight up to the configured limit, and closes all parts. */
  close(): Promise<void>;
}

/**
 * Wires a gateway: configuration, database, accounting, calls, server. It also migrates the database and recovers calls of
 * earlier processes (`startup.ts`).
 *
 * @throws if an admin token could be guessed, or the database cannot be migrated or recovered.
 * @throws DemoMarkError if the database is the demo's and the gateway is not, or the reverse.
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, databases, logger, clock = systemClock, testDatabaseClock, disk = nodeDisk } = options;
  const [weakness] = options.adminTokens.map(adminTokenWeakness).filter((found) => found !== null);
  if (weakness !== undefined) throw new Error(`an admin token ${weakness}`);
  const ids = createIds(clock);
  const monotonicMs = options.monotonicMs ?? (() => performance.now());
  const nodeId = ids.next('node');
  const part = options.worker?.part ?? WHOLE;
  // Before anything is opened that would have to be closed if its packages are not installed.
  const traces =
    config.tracing === undefined
      ? null
      : await createTraces({
          tracing: config.tracing,
          providers: () => settings.current.config.providers,
          logger,
          monotonicMs,
          timing: options.traceTiming,
        });
  const configLoads = options.configLoads ?? new ConfigLoads(null, {}, clock);

  makePrivateDirectory(config.database.dataDir, logger);
  const { servedAs = { isDemo: false, demoAccountId: null } } = options;
  // Before it is changed for this version, and again because another node may have decided meanwhile.
  await requireReadableSchema(databases.directory);
  await checkDemoMark(databases.directory, servedAs);
  await openPartitions(options);
  await setDemoMark(databases.directory, servedAs);
  const bodyBudgets = new BodyBudgets({ memoryBytes: 0, diskBytes: 0 });
  const settings = new SettingsInForce(config, part);
  const updateBodyBudgets = () =>
    setBodyBudgets(bodyBudgets, disk, config.database.dataDir, () => settings.current.config, part);
  const metrics = createMetrics();
  const accounting = await createAccounting({
    observers: metrics.observers,
    config,
    databases,
    settings,
    nodeId,
    clock,
    testDatabaseClock,
    ids,
    logger,
    disk,
    budget: bodyBudgets,
    usageIntervalMs: options.usageIntervalMs,
    timing: options.timing,
  });
  const health = new RouteHealth(
    clock,
    () => {
      const { failures, probeAfter } = settings.current.config.routing.breaker;
      return { failuresMax: failures, probeAfterMs: probeAfter };
    },
    logBreakers(logger),
  );
  const changes = createChanges({ directory: databases.directory, nodeId, clock, ids, logger });
  const spoolDirectory = join(config.database.dataDir, 'spool');
  const maintenance = createMaintenance({
    tasks: [
      ...housekeepingTasks({
        clock: accounting.databaseClock,
        testDatabaseClock,
        ...accounting.housekeeping,
        changes: changes.housekeeping,
        retention: () => settings.current.config.retention,
        setBodyBudgets: updateBodyBudgets,
      }),
      ...peopleHousekeeping(databases.directory, clock),
    ],
    logger,
  });
  await recoverAndStart({
    ...accounting,
    maintenance,
    isOnlyNode: options.isOnlyNode ?? false,
    removeOldUploads: () => sweepSpool(spoolDirectory),
  });
  accounting.rollups.start();
  const principals = await createPrincipals({
    store: accounting.keyStatuses,
    limitedKeys: accounting.limitedKeys,
    partitions: accounting.knownPartitions,
    directory: databases.directory,
    questions: accounting.directoryQuestions,
    clock,
    onUse: ({ accountId, keyId }) => accounting.keyUses.note(accountId, keyId),
  });

  await accounting.drains.start();

  const databaseNowMs = async ({ subscriptions }: Pick<Accounting['balances'], 'subscriptions'>): Promise<number> =>
    testDatabaseClock?.nowMs() ?? (await subscriptions.nowMs());
  const status = createNodeStatus(databases.directory, accounting);

  let isClosing = false;
  let reload = { isInForce: true, lastAtMs: clock.nowMs() };
  const unpricedUses = new UnpricedUses({ clock, logger });
  const observers = createRequestObservers({
    accounting,
    metrics,
    unpricedUses,
    traces,
    settings,
    others: options.observers,
    refusalsRecordedMax: refusalsRecorded(part),
    clock,
    ids,
    logger,
  });

  const table = endpointTable(config);
  const messagesNames = config.server.protocolNames.messages;
  const app = createHttpServer({
    clock,
    ids,
    logger,
    isClosing: () => isClosing,
    unknownAddresses: createUnknownAddresses(table, messagesNames),
    limits: configOfWorker(config, part).server,
    openReport: createReports({
      clock,
      monotonicMs,
      logger,
      observers: observers.all,
      openTrace: traces?.openTrace ?? null,
    }),
  });
  registerCors(app, () => settings.current.config.server.cors.origins, CALL_HEADER_NAMES);
  const requestWorkers = createRequestWorkers({ ...requestWorkerLimits(part), ...options.requestWorkers });
  const published = publishedOperations(table);
  let publicCatalog = createPublicCatalog(config, published, clock);
  const admissionQueue = createAdmissionQueue();
  const addresses = createClientAddresses(config.server.trustedProxies);
  const brake = new RefusalBrake(monotonicMs, part);
  const node: NodeParts = {
    nodeId,
    part,
    app,
    databases,
    accounting,
    settings,
    health,
    principals,
    changes,
    admissionQueue,
    requestWorkers,
    bodyBudgets,
    unpricedUses,
    addresses,
    brake,
    clock,
    monotonicMs,
    ids,
    logger,
  };
  const idempotentCalls = new IdempotentCalls({
    storedResponses: accounting.storedResponses,
    budget: bodyBudgets,
    settings: () => settings.current,
  });
  serveEndpoints({
    ...node,
    idempotentCalls,
    table,
    messagesNames,
    spoolDirectory,
    refusals: createRefusals({ principals, addresses, brake, idempotentCalls }),
    querySources: createQuerySources({ accounting, settings, publicCatalog: () => publicCatalog(), databaseNowMs }),
    randomSource: options.randomSource ?? Math.random,
    abortLimits: { ...ABORT_LIMITS, ...options.abortLimits },
  });
  const { adminTokens, guard, notices } = serveManagementApis({
    ...node,
    options,
    publicTable: table,
    configLoads,
    guesses: options.worker?.guesses ?? createGuesses(monotonicMs, options.hashCost),
    databaseNowMs,
  });
  registerHealth(app, options.worker?.readReadiness ?? status.readReadiness, CONSOLE_PATH);
  const servedMetrics = serveMetrics({
    ...node,
    metrics,
    notices,
    reload: () => reload,
    guard,
    address: config.server.metrics,
    status,
    worker: options.worker,
  });

  let metricsUrl: string | null = null;

  return {
    app,
    nodeId,
    async listen() {
      const { host, port } = settings.current.config.server;
      await app.listen({ host, port });
      metricsUrl = await servedMetrics.listen();
      return addressOf(app, host);
    },
    get metricsUrl() {
      return metricsUrl;
    },
    own: { report: servedMetrics.report, readReadiness: status.readReadiness },
    notices,
    housekeeping: maintenance,
    callsWaiting: (accountId) => admissionQueue.waiting(accountId),
    reload(next) {
      // Workers read the same file: one of them says so.
      if (part.index === 0) changes.configurationChanged(settings.current.config, next);
      settings.change(next);
      void updateBodyBudgets();
      publicCatalog = createPublicCatalog(next, published, clock);
      health.keepOnly(new Set(allRoutes(settings.current.catalog).map(({ route }) => route.id)));
      reload = { isInForce: true, lastAtMs: clock.nowMs() };
    },
    configDecided(isInForce) {
      reload = { ...reload, isInForce };
    },
    retryCredentials: () => settings.retryCredentials(),
    announceClose() {
      status.announceClose();
      return { drainDelayMs: settings.current.config.server.drainDelay };
    },
    async close() {
      status.announceClose();
      isClosing = true;
      await closeParts({ ...node, adminTokens, maintenance, notices, observers, servedMetrics });
    },
  };
}
