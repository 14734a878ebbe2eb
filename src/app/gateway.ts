import { join } from 'node:path';
import { createPrincipals } from '../accounting/accounts/principals.ts';
import { endpointTable } from '../api/endpoints/table.ts';
import { createUnknownAddresses } from '../api/endpoints/unknown-address.ts';
import { adminTokenWeakness } from '../api/management/guard.ts';
import { BALANCE_QUERY } from '../api/queries/query.ts';
import { CALL_HEADER_NAMES } from '../calls/relay/call-headers.ts';
import { SettingsInForce } from '../calls/settings-in-force.ts';
import { ConfigLoads } from '../config/loads.ts';
import { NodeCatalog } from '../config/revisions/node-catalog.ts';
import { BodyBudgets } from '../http/body-budgets.ts';
import { ClientAddresses } from '../http/client-address.ts';
import { Cors } from '../http/cors.ts';
import { registerHealth } from '../http/health.ts';
import { RefusalThrottle } from '../http/refusal-throttle.ts';
import { createHttpServer } from '../http/server.ts';
import { sweepSpool } from '../http/spool.ts';
import { nodeDisk } from '../journal/disk.ts';
import { systemClock } from '../lib/clock.ts';
import { createIds } from '../lib/ids.ts';
import { WHOLE } from '../lib/part.ts';
import { CONSOLE_PATH } from '../people/console-path.ts';
import { logBreakers } from '../providers/routing/breaker-log.ts';
import { RouteHealth } from '../providers/routing/health.ts';
import { createRefusalRecorder, createRefusalRecords } from '../requests/refusal-recorder.ts';
import { createChargeWarnings, createRequestLog } from '../requests/request-log.ts';
import { createReports } from '../requests/request-report.ts';
import { UnpricedUses } from '../requests/unpriced-uses.ts';
import { monitorEventLoop } from '../telemetry/event-loop.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createTraces } from '../telemetry/traces.ts';
import { createAccounting } from './accounting.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { createGuesses } from './guesses.ts';
import { Housekeeping, housekeepingTasks } from './housekeeping.ts';
import { prepareDatabases, recoverAndStart, shutDown } from './lifecycle.ts';
import { ManagementApis } from './management-apis.ts';
import { createNodeFigures, NodeStatus, ServedMetrics } from './node-status.ts';
import { RunningGateway } from './running-gateway.ts';
import { PublicApi } from './served-endpoints.ts';
import { configOfWorker, refusalsRecorded, setBodyBudgets } from './worker-limits.ts';

export type Gateway = Awaited<ReturnType<typeof createGateway>>;

/**
 * Creates a gateway, migrates the database, and recovers the calls of earlier processes (`lifecycle.ts`). `listen` serves it.
 * @throws if an admin token could be guessed, or the database cannot be migrated or recovered; DemoMarkError if only one of database and
 * gateway is the demo's
 */
export async function createGateway(options: GatewayOptions): Promise<RunningGateway> {
  const { config, databases, logger, clock = systemClock, testDatabaseClock, disk = nodeDisk } = options;
  const { directory } = databases;
  const { dataDir } = config.database;
  requireStrongTokens(options.adminTokens);
  const ids = createIds(clock);
  const monotonicMs = options.monotonicMs ?? (() => performance.now());
  const nodeId = ids.next('node');
  const part = options.worker?.part ?? WHOLE;
  // Tracing comes first: if its packages are not installed, there is nothing to close yet.
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
  await prepareDatabases(options);
  const catalog = new NodeCatalog(options.node ?? null, config.catalog);
  const bodyBudgets = new BodyBudgets({ memoryBytes: 0, diskBytes: 0 });
  const settings = new SettingsInForce(config, (whole) => configOfWorker(whole, part));
  const updateBodyBudgets = () => setBodyBudgets(bodyBudgets, disk, dataDir, () => settings.current.config, part);
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
    hasOtherProcesses: options.isOnlyNode !== true || part.count > 1,
    usageIntervalMs: options.usageIntervalMs,
    timing: options.timing,
  });
  const breakerTerms = () => {
    const { failures, probeAfter } = settings.current.config.routing.breaker;
    return { failuresMax: failures, probeAfterMs: probeAfter };
  };
  const health = new RouteHealth(clock, breakerTerms, logBreakers(logger));
  const spoolDirectory = join(dataDir, 'spool');
  const housekeeping = new Housekeeping({
    tasks: housekeepingTasks({
      ...accounting.housekeeping,
      databaseClock: accounting.databaseClock,
      testDatabaseClock,
      directory,
      clock,
      retention: () => settings.current.config.retention,
      setBodyBudgets: updateBodyBudgets,
    }),
    logger,
  });
  await recoverAndStart({
    accounting,
    housekeeping,
    isOnlyNode: options.isOnlyNode ?? false,
    removeOldUploads: () => sweepSpool(spoolDirectory),
  });
  accounting.rollups.start();
  await accounting.limitUses.start();
  const principals = await createPrincipals({
    store: accounting.keyStatuses,
    limitedKeys: accounting.limitedKeys,
    partitions: accounting.knownPartitions,
    directory,
    questions: accounting.directoryQuestions,
    clock,
    onUse: ({ accountId, keyId }) => accounting.keyUses.note(accountId, keyId),
  });
  await accounting.drains.start();

  const status = new NodeStatus({ directory, accounting, catalog, clock });
  const unpricedUses = new UnpricedUses({ clock, logger });
  const refusals = createRefusalRecorder({
    store: accounting.housekeeping.refusals,
    clock,
    ids,
    logger,
    recordedMax: refusalsRecorded(part),
  });
  // Observers in the order in which they receive each report.
  const requestObservers = [
    createRequestLog(logger, () => settings.current.config.log.requests),
    metrics.observers.request,
    createChargeWarnings(logger, unpricedUses),
    createRefusalRecords(refusals, {
      isOff: () => settings.current.config.retention.refusals === 0,
      // Contract 4.10 requires this.
      exceptOperation: BALANCE_QUERY,
    }),
    ...(traces === null ? [] : [traces.observer]),
    ...(options.observers ?? []),
  ];
  const table = endpointTable(config);
  let isClosing = false;
  const app = createHttpServer({
    clock,
    ids,
    logger,
    isClosing: () => isClosing,
    unknownAddresses: createUnknownAddresses(table, config.server.protocolNames.messages),
    limits: configOfWorker(config, part).server,
    cors: new Cors(() => settings.current.config.server.cors.origins, CALL_HEADER_NAMES),
    openReport: createReports({
      clock,
      monotonicMs,
      logger,
      observers: requestObservers,
      openTrace: traces?.openTrace ?? null,
    }),
  });
  const node = {
    nodeId,
    part,
    app,
    databases,
    accounting,
    settings,
    catalog,
    health,
    principals,
    bodyBudgets,
    addresses: new ClientAddresses(config.server.trustedProxies),
    throttle: new RefusalThrottle(monotonicMs, part),
    clock,
    monotonicMs,
    ids,
    logger,
  };
  const publicApi = new PublicApi({ ...node, options, table, spoolDirectory });
  const management = new ManagementApis({
    ...node,
    options,
    publicTable: table,
    configLoads: options.configLoads ?? new ConfigLoads(null, {}, clock),
    guesses: options.worker?.guesses ?? createGuesses(monotonicMs, options.hashCost),
    unpricedUses,
  });
  registerHealth(app, options.worker?.readReadiness ?? status.readReadiness, CONSOLE_PATH);
  const eventLoop = monitorEventLoop();
  const servedMetrics = new ServedMetrics({
    ...node,
    metrics,
    eventLoop,
    readNode: createNodeFigures({
      ...node,
      admissionQueue: publicApi.admissionQueue,
      requestWorkers: publicApi.requestWorkers,
      notices: management.notices,
      priceSource: management.priceSource,
      eventLoop,
      status,
      workers: part.count,
    }),
    guard: management.guard,
    address: config.server.metrics,
    status,
    worker: options.worker,
  });

  return new RunningGateway({
    ...node,
    housekeeping,
    publicApi,
    management,
    servedMetrics,
    status,
    updateBodyBudgets,
    async shutDown() {
      isClosing = true;
      await shutDown({
        ...node,
        directory,
        housekeeping,
        publicApi,
        management,
        metrics: servedMetrics,
        flushObservers: () => Promise.all([refusals.close(), traces?.close()]),
      });
    },
  });
}

function requireStrongTokens(adminTokens: readonly string[]): void {
  const [weakness] = adminTokens.map(adminTokenWeakness).filter((found) => found !== null);
  if (weakness !== undefined) throw new Error(`an admin token ${weakness}`);
}
