import type { FastifyInstance } from 'fastify';
import type { Principals } from '../accounting/accounts/principals.ts';
import type { Guard } from '../api/management/guard.ts';
import { registerMetrics } from '../api/metrics.ts';
import { createMetricsServer, type MetricsServer, type MetricsServerOptions } from '../api/metrics-server.ts';
import type { AdmissionQueue } from '../calls/admission-queue.ts';
import type { RequestWorkers } from '../calls/request-workers.ts';
import type { SettingsInForce } from '../calls/settings-in-force.ts';
import type { PriceSource } from '../config/price-source/price-source.ts';
import type { NodeCatalog } from '../config/revisions/node-catalog.ts';
import type { Databases } from '../db/databases.ts';
import type { DirectoryDatabase } from '../db/home-pools.ts';
import type { BodyBudgets } from '../http/body-budgets.ts';
import type { Readiness } from '../http/health.ts';
import type { RefusalThrottle } from '../http/refusal-throttle.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import { InTime } from '../lib/in-time.ts';
import type { Logger } from '../lib/logger.ts';
import { shareInFlight } from '../lib/shared-reads.ts';
import { programVersion } from '../lib/version.ts';
import { allRoutes } from '../providers/catalog/catalog.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { EventLoopMonitor } from '../telemetry/event-loop.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { NodeFigures, ProviderFigures, RouteFigures } from '../telemetry/node-figures.ts';
import type { MetricsReport } from '../telemetry/summed-metrics.ts';
import type { Accounting } from './accounting.ts';
import type { WorkerOptions } from './gateway-options.ts';
import { limitFigures, vendorLimitFigures } from './limit-figures.ts';
import type { Notices } from './notices.ts';

/** How long `/readyz` waits for the database. */
const READINESS_MS = 1_000;

/** Returns a function that tells whether the database responds. Concurrent callers share one ping. */
export function createReadiness(ping: () => Promise<unknown>, timeoutMs = READINESS_MS): () => Promise<boolean> {
  const inTime = new InTime(timeoutMs);
  const ask = shareInFlight(() =>
    ping().then(
      () => true,
      () => false,
    ),
  );
  return async () => (await inTime.of(ask())) === true;
}

const CLOSE_ANNOUNCED = 'This node is about to stop; it still serves calls.';

interface StatusDependencies {
  readonly directory: DirectoryDatabase;
  readonly accounting: Pick<Accounting, 'databaseClock' | 'settlement' | 'addedPartitions'>;
  readonly catalog: Pick<NodeCatalog, 'warning'>;
  readonly clock: Clock;
}

export class NodeStatus {
  readonly #accounting: StatusDependencies['accounting'];
  readonly #catalog: StatusDependencies['catalog'];
  readonly #clock: Clock;
  #isCloseAnnounced = false;
  /** Results of reading the configuration file. `isInForce`: it is valid and in force. */
  reload: NodeFigures['reload'];
  /** Whether the directory responds. A node without one of the partitions still serves the accounts of the others. */
  readonly isDatabaseUp: () => Promise<boolean>;

  constructor({ directory, accounting, catalog, clock }: StatusDependencies) {
    this.#accounting = accounting;
    this.#catalog = catalog;
    this.#clock = clock;
    this.reload = { isInForce: true, lastAtMs: clock.nowMs() };
    this.isDatabaseUp = createReadiness(() =>
      directory.pool('probes').query({ name: 'health.ping', text: 'select 1' }),
    );
  }

  /** Whether the node takes calls, even if the database is down. */
  get takesCalls(): boolean {
    return !this.#isCloseAnnounced && this.#accounting.settlement.canTakeCalls;
  }

  /** Readiness of this process alone, also in a worker. */
  readonly readReadiness = async (): Promise<Readiness> => {
    const { databaseClock, addedPartitions } = this.#accounting;
    const isReady = this.takesCalls && (await this.isDatabaseUp());
    const warnings = [databaseClock.warning, addedPartitions.warning, this.#catalog.warning].filter(
      (warning) => warning !== null,
    );
    return { isReady, detail: [...(this.#isCloseAnnounced ? [CLOSE_ANNOUNCED] : []), ...warnings] };
  };

  /** Makes the node unready; it still serves calls. */
  announceClose(): void {
    this.#isCloseAnnounced = true;
  }

  reloaded(): void {
    this.reload = { isInForce: true, lastAtMs: this.#clock.nowMs() };
  }

  configDecided(isInForce: boolean): void {
    this.reload = { ...this.reload, isInForce };
  }
}

interface MeasuredNode {
  readonly app: FastifyInstance;
  readonly accounting: Accounting;
  readonly databases: Pick<Databases, 'figures'>;
  readonly settings: SettingsInForce;
  readonly principals: Principals;
  readonly health: RouteHealth;
  readonly admissionQueue: AdmissionQueue;
  readonly requestWorkers: RequestWorkers;
  readonly bodyBudgets: BodyBudgets;
  readonly throttle: RefusalThrottle;
  readonly notices: Pick<Notices, 'figures'>;
  readonly priceSource: Pick<PriceSource, 'counts'>;
  readonly eventLoop: EventLoopMonitor;
  readonly status: NodeStatus;
  readonly catalog: Pick<NodeCatalog, 'follower'>;
  /** Number of workers with which the gateway was started; 1 for a single process. */
  readonly workers: number;
  readonly clock: Clock;
}

export function createNodeFigures(node: MeasuredNode): () => Promise<NodeFigures> {
  const { app, accounting, bodyBudgets, databases, principals, settings, status } = node;
  const { reservations, settlement, databaseSettlement, journal, databaseClock, storedResponses } = accounting;
  const { questions, directoryQuestions } = accounting;
  const build = { version: programVersion(), nodeVersion: process.version, engine: 'postgresql' };
  return async () => {
    const [isUp, open] = await Promise.all([status.isDatabaseUp(), connectionsOf(app)]);
    return {
      build,
      workers: node.workers,
      isReady: isUp && status.takesCalls,
      reload: status.reload,
      catalog: revisionsOf(node.catalog),
      priceSourceReads: node.priceSource.counts,
      requestsInFlight: settings.requestsInFlight,
      connections: { open, max: settings.current.config.server.connections },
      refusalsDelayed: node.throttle.held,
      callsQueued: node.admissionQueue.size,
      reservations: { open: reservations.open, waiting: reservations.waiting, doubtful: reservations.doubtful },
      settlements: { waiting: databaseSettlement.waiting, unwritten: settlement.unwritten },
      callsUnresolved: accounting.callsUnresolved(),
      journal: { entries: journal.size, fileBytes: journal.fileBytes, isWritable: journal.isWritable },
      claims: storedResponses.size,
      cachedKeys: principals.cachedKeys,
      database: {
        isUp,
        isSilent: questions.isDown || directoryQuestions.isDown,
        isNotified: principals.isNotified,
        clockAheadMs: databaseClock.aheadMs,
        pools: databases.figures(),
        partitions: accounting.partitionQuestions.map(({ isDown: isSilent }, number) => ({ number, isSilent })),
        partitionsUnopened: accounting.addedPartitions.count,
      },
      providers: providersOf(settings, node.clock.nowMs()),
      routes: routesOf(settings, node.health),
      providerLimits: limitFigures(settings.current.limits?.subjects ?? [], node.clock.nowMs()),
      vendorLimits: vendorLimitFigures(settings.current, node.clock.nowMs()),
      requestWorkers: node.requestWorkers.tasks,
      bodies: {
        used: { memoryBytes: bodyBudgets.memoryUsedBytes, diskBytes: bodyBudgets.diskUsedBytes },
        max: bodyBudgets.limits,
      },
      notices: node.notices.figures(),
      eventLoop: node.eventLoop.read(),
    };
  };
}

function revisionsOf({ follower }: Pick<NodeCatalog, 'follower'>): NodeFigures['catalog'] {
  const { inForce, scheduled, failed } = follower?.status ?? { inForce: null, scheduled: null, failed: null };
  return { inForce, scheduled, failed: failed?.number ?? null };
}

function providersOf({ current: { config, providers } }: SettingsInForce, nowMs: number): ProviderFigures[] {
  return Object.entries(config.providers).map(([id, { connections }]) => {
    const { gate, pool, credentials } = providers.get(id);
    return {
      id,
      callsInFlight: gate.callsInFlight,
      callsMax: connections,
      callsWaiting: gate.callsWaiting,
      callsRefused: gate.callsRefused,
      connectionsOpen: pool.stats.connected,
      credentials: credentials.counts(nowMs),
    };
  });
}

function routesOf({ current: { catalog } }: SettingsInForce, health: RouteHealth): RouteFigures[] {
  return allRoutes(catalog).map(({ model, route }) => {
    const { state, accounts } = health.status(route.id);
    return {
      model: model.id,
      provider: route.providerId,
      providerModel: route.providerModel,
      state,
      accountsLeftOut: accounts.length,
    };
  });
}

function connectionsOf({ server }: FastifyInstance): Promise<number> {
  return new Promise((resolve) => server.getConnections((error, count) => resolve(error === null ? count : 0)));
}

interface ServedMetricsDependencies {
  readonly app: FastifyInstance;
  readonly metrics: Metrics;
  readonly readNode: () => Promise<NodeFigures>;
  /** Measures delays; `close` stops it. */
  readonly eventLoop: EventLoopMonitor;
  /** Decides who may read the metrics at the gateway's own address. */
  readonly guard: Guard;
  /** Address at which metrics are served without a token; absent: none. */
  readonly address: MetricsServerOptions['address'] | undefined;
  readonly status: NodeStatus;
  /** Present in a worker, whose metrics the primary serves together with those of the others. */
  readonly worker: WorkerOptions | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

export class ServedMetrics {
  readonly #metrics: Metrics;
  readonly #readNode: () => Promise<NodeFigures>;
  readonly #eventLoop: EventLoopMonitor;
  readonly #server: MetricsServer | null;

  constructor(deps: ServedMetricsDependencies) {
    const { app, metrics, readNode, guard, address, status, worker, clock, ids, logger } = deps;
    this.#metrics = metrics;
    this.#readNode = readNode;
    this.#eventLoop = deps.eventLoop;
    const scrape = worker?.scrapeAll ?? (() => metrics.scrape(readNode));
    registerMetrics(app, scrape, guard);
    const { readReadiness } = status;
    this.#server =
      address === undefined || worker !== undefined
        ? null
        : createMetricsServer({ address, scrape, readReadiness, clock, ids, logger });
  }

  /** Metrics of this process alone. */
  readonly report = (): Promise<MetricsReport> => this.#metrics.report(this.#readNode);

  /** Serves metrics without a token. Returns the address; `null` if none is configured. */
  async listen(): Promise<string | null> {
    return (await this.#server?.listen()) ?? null;
  }

  async close(): Promise<void> {
    await this.#server?.close();
    this.#eventLoop.stop();
  }
}
