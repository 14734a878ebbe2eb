import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { createPrincipals } from '../accounting/accounts/principals.ts';
import type { QuestionTiming } from '../accounting/database-questions.ts';
import { auditLedger } from '../accounting/ledger/audit-store.ts';
import { findCurrentPlan } from '../accounting/plans/snapshot.ts';
import type { SubscriptionStore } from '../accounting/plans/subscriptions-store.ts';
import { createRefusalRecorder } from '../accounting/refusals/refusal-recorder.ts';
import { type Disk, nodeDisk } from '../accounting/settlement/disk.ts';
import type { SettlementTiming } from '../accounting/settlement/settlement.ts';
import { exportDatabase } from '../accounting/transfer/export.ts';
import { createExportStore } from '../accounting/transfer/export-store.ts';
import { ADMIN_TOKEN_LENGTH_MIN, createAdminGuard } from '../api/admin/access.ts';
import { registerAdmin } from '../api/admin/register.ts';
import { endpointAliases } from '../api/endpoints/aliases.ts';
import { createRefusals } from '../api/endpoints/refusals.ts';
import { registerEndpoints } from '../api/endpoints/register.ts';
import { endpointTable, publishedOperations } from '../api/endpoints/table.ts';
import { createUnknownAddresses } from '../api/endpoints/unknown-address.ts';
import { registerMetrics } from '../api/metrics.ts';
import { createReports, type RequestObserver } from '../api/request-report.ts';
import { createAdmit } from '../calls/admission.ts';
import { createAdmissionQueue } from '../calls/admission-queue.ts';
import { createCallRunner } from '../calls/call.ts';
import { createIdempotentCallRunner } from '../calls/idempotency/idempotent-call.ts';
import { createCallLook } from '../calls/look.ts';
import { createPrepare } from '../calls/prepared-call.ts';
import { CALL_HEADER_NAMES } from '../calls/relay/call-headers.ts';
import { ABORT_LIMITS, type AbortLimits } from '../calls/relay/client-abort.ts';
import { createRequestWorkers, type RequestWorkersOptions } from '../calls/request-workers.ts';
import { UnpricedUses } from '../calls/unpriced-uses.ts';
import { ConfigLoads } from '../config/loads.ts';
import type { Config } from '../config/schema.ts';
import type { Database } from '../db/database.ts';
import { migrate, schemaVersion } from '../db/migrate.ts';
import { makePrivateDirectory } from '../db/private-directory.ts';
import {
  type BodyBudgetLimits,
  BodyBudgets,
  defaultBodyMemoryBytes,
  defaultUploadDiskBytes,
} from '../http/body-budgets.ts';
import { createClientAddresses } from '../http/client-address.ts';
import { registerCors } from '../http/cors.ts';
import { type HealthSources, registerHealth } from '../http/health.ts';
import { addressOf, closeServer } from '../http/listening.ts';
import { RefusalBrake } from '../http/refusal-brake.ts';
import { createHttpServer } from '../http/server.ts';
import { sweepSpool } from '../http/spool.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { createIds } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { shareReads } from '../lib/shared-reads.ts';
import { OutputSpeeds } from '../protocols/metering/output-speed.ts';
import { allRoutes } from '../providers/catalog/catalog.ts';
import { createPublicCatalog } from '../providers/catalog/public-catalog.ts';
import type { RandomSource } from '../providers/routing/choose.ts';
import { createRouteHealth } from '../providers/routing/health.ts';
import { monitorEventLoop } from '../telemetry/event-loop.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { createAccounting } from './accounting.ts';
import { auditPace } from './audit-pace.ts';
import { logBreakers } from './breaker-log.ts';
import { housekeepingTasks } from './housekeeping.ts';
import { orOverloaded } from './lanes.ts';
import { createMaintenance } from './maintenance.ts';
import { createMetricsServer } from './metrics-server.ts';
import { createNodeFigures } from './node-figures.ts';
import { testProviderOf } from './provider-tester.ts';
import { createReadiness } from './readiness.ts';
import { createRefusalRecords } from './refusal-records.ts';
import { createRequestLog } from './request-log.ts';
import { SettingsInForce } from './settings-in-force.ts';
import { recoverAndStart } from './startup.ts';

export interface GatewayOptions {
  readonly config: Config;
  /** An open database; `close` of the gateway closes it. */
  readonly database: Database;
  readonly logger: Logger;
  /** Credentials of the admin API, each of 16 characters at least. */
  readonly adminTokens: readonly string[];
  /** The one of them that the command line of this machine has, and that alone may export the database. */
  readonly localToken?: string;
  readonly clock?: Clock;
  /** For tests: in place of the database's clock, by which limits, claims and the billing day are decided. */
  readonly testDatabaseClock?: Clock | undefined;
  /** The clock that measures the rate of refusals, and how long requests take, in milliseconds; it never goes back. */
  readonly monotonicMs?: () => number;
  /** What else gets the report of every request. */
  readonly observers?: readonly RequestObserver[];
  readonly chance?: RandomSource;
  readonly timing?: SettlementTiming & QuestionTiming;
  /** How long, and how many bytes, the rest of a stream is awaited after its client has left. */
  readonly abortLimits?: Partial<AbortLimits>;
  /** The disk of the journal; that of this machine by default. */
  readonly disk?: Disk;
  readonly requestWorkers?: RequestWorkersOptions;
  /** Where `config` comes from; by default from no file. */
  readonly configLoads?: ConfigLoads;
  /** Ends the waiting for locks of others, with its reason. */
  readonly stopped?: AbortSignal;
  /** For tests: how often usage is summed. */
  readonly usageIntervalMs?: number;
}

/** A wired gateway. It serves no socket until `listen`. */
export interface Gateway {
  /** The HTTP side; `inject` reaches every address without a socket. */
  readonly app: FastifyInstance;
  /** Starts to serve and returns the address, such as `http://127.0.0.1:8080`. */
  listen(): Promise<string>;
  /** Where metrics are served without a token; `null` before `listen`, and where the configuration has no such address. */
  readonly metricsUrl: string | null;
  /** How many calls of an account wait in the admission queue of this node. */
  callsWaiting(accountId: string): number;
  /** Applies another configuration to calls that begin from now on. Address and database stay the same. */
  reload(config: Config): void;
  /** Tries the credentials of providers again that were refused, as a reload does, where the configuration is the same. */
  retryCredentials(): void;
  /**
   * Makes `/readyz` respond 503, while calls are served as before, and returns how long load balancers get to notice it.
   */
  announceClose(): { readonly drainDelayMs: number };
  /** The configuration file was read: whether what it says is in force. For metrics. */
  configDecided(isInForce: boolean): void;
  /** Refuses new calls, awaits those in flight up to the configured limit, and closes all parts. */
  close(): Promise<void>;
}

/**
 * Wires a gateway: configuration, database, accounting, calls, server. It also migrates the database and recovers calls of
 * earlier processes (`startup.ts`).
 *
 * @throws where an admin token is too short, or the database cannot be migrated or recovered.
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, database, logger, clock = systemClock, testDatabaseClock, disk = nodeDisk } = options;
  if (options.adminTokens.some((token) => token.length < ADMIN_TOKEN_LENGTH_MIN)) {
    throw new Error(`an admin token has fewer than ${ADMIN_TOKEN_LENGTH_MIN} characters`);
  }
  const ids = createIds(clock);
  const monotonicMs = options.monotonicMs ?? (() => performance.now());
  const nodeId = ids.next('node');
  const configLoads = options.configLoads ?? new ConfigLoads(null, {}, clock);

  // Opening an embedded database has made the directory private.
  if (database.engine !== 'embedded') makePrivateDirectory(config.database.dataDir, logger);
  await migrate(database, { onWaiting: (message) => logger.warn({}, message), stopped: options.stopped });
  const bodyBudgets = new BodyBudgets({ memoryBytes: 0, diskBytes: 0 });
  const settings = new SettingsInForce(config);
  const setBodyBudgets = async (): Promise<void> => {
    const freeBytes = await disk.freeBytes(config.database.dataDir).catch(() => Number.POSITIVE_INFINITY);
    bodyBudgets.change(bodyBudgetLimits(settings.current.config, freeBytes + bodyBudgets.diskUsedBytes));
  };
  const metrics = createMetrics();
  const accounting = await createAccounting({
    observers: metrics.observers,
    config,
    database,
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
  const { databaseClock, drains, today, balances, continuationKeys, storedResponses, reservations, settlement } =
    accounting;
  const health = createRouteHealth(
    clock,
    () => {
      const { failures, probeAfter } = settings.current.config.routing.breaker;
      return { failuresMax: failures, probeAfterMs: probeAfter };
    },
    logBreakers(logger),
  );
  const spoolDirectory = join(config.database.dataDir, 'spool');
  const maintenance = createMaintenance({
    tasks: housekeepingTasks({
      clock: databaseClock,
      testDatabaseClock,
      ...accounting.housekeeping,
      refusalsKeptDays: () => settings.current.config.refusals.keepDays,
      setBodyBudgets,
    }),
    logger,
  });
  await recoverAndStart({
    ...accounting,
    database,
    maintenance,
    removeOldUploads: () => sweepSpool(spoolDirectory),
  });
  accounting.rollups.start();
  const principals = await createPrincipals({
    store: accounting.keys,
    database,
    questions: accounting.questions,
    clock,
    onUse: ({ accountId, keyId }) => accounting.keyUses.note(accountId, keyId),
  });

  await drains.start();

  const databaseNowMs = async ({
    subscriptions,
  }: {
    subscriptions: Pick<SubscriptionStore, 'nowMs'>;
  }): Promise<number> => testDatabaseClock?.nowMs() ?? (await subscriptions.nowMs());
  const respondsInTime = createReadiness(() =>
    database.lane('probes').query({ name: 'health.ping', text: 'select 1' }),
  );

  let isClosing = false;
  let isCloseAnnounced = false;
  let reload = { isInForce: true, lastAtMs: clock.nowMs() };
  /** What gets the report of every request. */
  const refusalRecorder = createRefusalRecorder({ store: accounting.housekeeping.refusals, clock, ids, logger });
  const observers: RequestObserver[] = [
    createRequestLog(logger, () => settings.current.config.log.requests),
    metrics.observers.request,
    createRefusalRecords(refusalRecorder, () => settings.current.config.refusals.keepDays === 0),
    ...(options.observers ?? []),
  ];

  const table = endpointTable(config);
  const messagesNames = config.server.protocolNames.messages;
  const app = createHttpServer({
    clock,
    ids,
    logger,
    isClosing: () => isClosing,
    unknownAddresses: createUnknownAddresses(table, messagesNames),
    limits: config.server,
    openReport: createReports({ clock, monotonicMs, logger, observers }),
  });
  registerCors(app, () => settings.current.config.server.cors.origins, CALL_HEADER_NAMES);
  const requestWorkers = createRequestWorkers(options.requestWorkers);
  const published = publishedOperations(table);
  let publicCatalog = createPublicCatalog(config, published, clock);
  const admissionQueue = createAdmissionQueue();
  const unpricedUses = new UnpricedUses({ clock, logger });
  const runCall = createCallRunner({
    prepare: createPrepare({
      continuationKeys,
      health,
      drained: drains,
      clock,
      chance: options.chance ?? Math.random,
    }),
    admit: createAdmit({ reservations, queue: admissionQueue, databaseClock, settlement, unpricedUses, clock, logger }),
    settlement,
    health,
    drained: drains,
    clock,
    logger,
    abortLimits: { ...ABORT_LIMITS, ...options.abortLimits },
    speeds: new OutputSpeeds(),
    countInput: requestWorkers.count,
  });
  const addresses = createClientAddresses(config.server.trustedProxies);
  const brake = new RefusalBrake(monotonicMs);
  registerEndpoints(app, [...table, ...endpointAliases(table, messagesNames)], {
    refusals: createRefusals({ principals, addresses, brake }),
    settings: () => settings.current,
    bodyBudgets,
    lookAtCall: createCallLook(reservations, databaseClock),
    requestWorkers,
    spoolDirectory,
    runCall,
    runIdempotentCall: createIdempotentCallRunner(runCall, storedResponses, bodyBudgets),
    querySources: {
      // Of an account one read runs and one waits, however often its keys ask.
      balanceNano: shareReads(async (accountId) => {
        const found = await balances.ledger.findBalances([accountId], today());
        return found.get(accountId)?.balanceNano ?? 0n;
      }),
      config: () => settings.current.config,
      publicCatalog: () => publicCatalog(),
      subscription: shareReads(async (accountId) => {
        const nowMs = await databaseNowMs(balances);
        const { plans } = settings.current;
        const state = await balances.subscriptions.findState(accountId, new Date(nowMs), plans);
        return { ...findCurrentPlan(state, plans, nowMs), nowMs };
      }),
    },
  });
  const access = { tokens: options.adminTokens, localToken: options.localToken ?? null };
  registerAdmin(
    app,
    {
      ...accounting.admin,
      principals,
      health,
      drains,
      catalog: () => settings.current.catalog,
      config: () => settings.current.config,
      testProvider: (name, asked) => testProviderOf(settings.current, name, asked, clock),
      configStanding: () => configLoads.standing,
      nodeId,
      unpricedUses: () => unpricedUses.list(),
      credentialsOf: ({ providerId, providerModel }) =>
        settings.current.providers.get(providerId).credentials.standing(providerModel, clock.nowMs()),
      plans: () => settings.current.plans,
      clock,
      databaseNowMs: () => databaseNowMs(accounting.admin),
      ids,
      today,
      localTime: () => settings.current.localTime,
      timezone: () => settings.current.config.billing.timezone,
      auditLedger: (given) => orOverloaded(auditLedger(database, { ...given, pace: auditPace() })),
      exportDatabase: () => exportDatabase({ store: createExportStore(database), schema: schemaVersion(), clock }),
    },
    access,
    { addresses, brake, onChange: (change) => logger.info(change, 'a change by the admin API') },
  );
  const takesCalls = (): boolean => !isCloseAnnounced && settlement.canTakeCalls;
  const healthSources: HealthSources = {
    isReady: async () => takesCalls() && (await respondsInTime()),
    warnings: () => [
      ...(isCloseAnnounced ? [CLOSE_ANNOUNCED] : []),
      ...(databaseClock.warning === null ? [] : [databaseClock.warning]),
    ],
  };
  registerHealth(app, healthSources);
  const eventLoop = monitorEventLoop();
  const readNode = createNodeFigures({
    app,
    accounting,
    admissionQueue,
    bodyBudgets,
    brake,
    clock,
    database,
    eventLoop,
    health,
    principals,
    requestWorkers,
    settings,
    reload: () => reload,
    isDatabaseUp: respondsInTime,
    takesCalls,
  });
  const scrape = () => metrics.scrape(readNode);
  registerMetrics(app, scrape, createAdminGuard(access, { addresses, brake }));
  const { metrics: metricsAddress } = config.server;
  const metricsServer =
    metricsAddress === undefined
      ? null
      : createMetricsServer({ address: metricsAddress, scrape, health: healthSources, clock, ids, logger });

  let metricsUrl: string | null = null;

  return {
    app,
    async listen() {
      const { host, port } = settings.current.config.server;
      await app.listen({ host, port });
      metricsUrl = (await metricsServer?.listen()) ?? null;
      return addressOf(app, host);
    },
    get metricsUrl() {
      return metricsUrl;
    },
    callsWaiting: (accountId) => admissionQueue.waiting(accountId),
    reload(next) {
      settings.change(next);
      void setBodyBudgets();
      publicCatalog = createPublicCatalog(next, published, clock);
      health.keepOnly(new Set(allRoutes(settings.current.catalog).map(({ route }) => route.id)));
      reload = { isInForce: true, lastAtMs: clock.nowMs() };
    },
    configDecided(isInForce) {
      reload = { ...reload, isInForce };
    },
    retryCredentials: () => settings.retryCredentials(),
    announceClose() {
      isCloseAnnounced = true;
      return { drainDelayMs: settings.current.config.server.drainDelay };
    },
    async close() {
      isCloseAnnounced = true;
      isClosing = true;
      admissionQueue.close();
      storedResponses.stopWaiting();
      const maintained = maintenance.stop();
      const { shutdownTimeout } = settings.current.config.server;
      // Calls may go on after their clients have left, so closed connections do not mean that all calls have ended.
      const cutOff = setTimeout(() => {
        logger.warn({ calls: settings.requestsInFlight }, 'the shutdown ended calls that were still in flight');
        settings.cutOff();
      }, shutdownTimeout);
      await closeServer(app, shutdownTimeout);
      await settings.idle();
      clearTimeout(cutOff);
      await maintained;
      await refusalRecorder.close();
      await accounting.rollups.stop();
      await settlement.drain();
      await storedResponses.drain();
      await reservations.drain();
      await accounting.nodes.stop();
      await continuationKeys.drain();
      await requestWorkers.close();
      await settings.current.providers.close();
      await principals.close();
      await drains.close();
      await accounting.keyUses.stop();
      accounting.questions.stop();
      await metricsServer?.close();
      eventLoop.stop();
      await database.close();
    },
  };
}

const CLOSE_ANNOUNCED = 'This node is about to stop; it still serves calls.';

function bodyBudgetLimits({ server }: Config, freeBytes: number): BodyBudgetLimits {
  // Where the system sets no limit, this is 0 or far more than the memory of the machine.
  const constrainedBytes = process.constrainedMemory();
  const availableBytes = constrainedBytes > 0 ? Math.min(constrainedBytes, totalmem()) : totalmem();
  return {
    memoryBytes: server.bodyMemory ?? defaultBodyMemoryBytes(availableBytes, server.bodyLimit),
    diskBytes: server.uploadDisk ?? defaultUploadDiskBytes(freeBytes),
  };
}
