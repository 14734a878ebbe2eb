import type { FastifyInstance } from 'fastify';
import type { SettingsInForce } from '../calls/settings-in-force.ts';
import type { Config } from '../config/schema.ts';
import type { ReadReadiness } from '../http/health.ts';
import { addressOf } from '../http/listening.ts';
import type { Part } from '../lib/part.ts';
import { allRoutes } from '../providers/catalog/catalog.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { MetricsReport } from '../telemetry/summed-metrics.ts';
import type { Housekeeping } from './housekeeping.ts';
import type { ManagementApis } from './management-apis.ts';
import type { NodeStatus, ServedMetrics } from './node-status.ts';
import type { Notices } from './notices.ts';
import type { PublicApi } from './served-endpoints.ts';

interface GatewayDependencies {
  readonly app: FastifyInstance;
  readonly nodeId: string;
  readonly part: Part;
  readonly settings: SettingsInForce;
  readonly health: RouteHealth;
  readonly housekeeping: Housekeeping;
  readonly publicApi: PublicApi;
  readonly management: ManagementApis;
  readonly servedMetrics: ServedMetrics;
  readonly status: NodeStatus;
  readonly updateBodyBudgets: () => Promise<void>;
  readonly shutDown: () => Promise<void>;
}

export class RunningGateway {
  /** `inject` reaches every address without a socket. */
  readonly app: FastifyInstance;
  /** Identifies this process in reservations, journals and logs. */
  readonly nodeId: string;
  /** For tests. */
  readonly notices: Pick<Notices, 'settle'>;
  /** For tests. */
  readonly housekeeping: Pick<Housekeeping, 'round'>;
  /** The primary reads the metrics and readiness of this worker. */
  readonly own: { readonly report: () => Promise<MetricsReport>; readonly readReadiness: ReadReadiness };
  readonly #deps: GatewayDependencies;
  #metricsUrl: string | null = null;

  constructor(deps: GatewayDependencies) {
    this.#deps = deps;
    this.app = deps.app;
    this.nodeId = deps.nodeId;
    this.notices = deps.management.notices;
    this.housekeeping = deps.housekeeping;
    this.own = { report: deps.servedMetrics.report, readReadiness: deps.status.readReadiness };
  }

  /** Returns the address, such as `http://127.0.0.1:8080`. */
  async listen(): Promise<string> {
    const { host, port } = this.#deps.settings.current.config.server;
    await this.app.listen({ host, port });
    this.#metricsUrl = await this.#deps.servedMetrics.listen();
    return addressOf(this.app, host);
  }

  /** Serves metrics without a token; `null` before `listen`, or if not configured. */
  get metricsUrl(): string | null {
    return this.#metricsUrl;
  }

  /** Calls of an account in this node's admission queue. */
  callsWaiting(accountId: string): number {
    return this.#deps.publicApi.admissionQueue.waiting(accountId);
  }

  /** The configuration applies to calls that begin from now on. The listening address and the database do not change. */
  reload(next: Config): void {
    const { part, settings, health, publicApi, management, status, updateBodyBudgets } = this.#deps;
    // All workers reload the same file, so only the first one records the reload.
    if (part.index === 0) management.reloadLog.record(settings.current.config, next);
    settings.change(next);
    void updateBodyBudgets();
    publicApi.reload(next);
    health.keepOnly(new Set(allRoutes(settings.current.catalog).map(({ route }) => route.id)));
    status.reloaded();
  }

  /** The metrics show whether the configuration file is valid and in force. */
  configDecided(isInForce: boolean): void {
    this.#deps.status.configDecided(isInForce);
  }

  /** Retries refused provider credentials, as a reload does. */
  retryCredentials(): void {
    this.#deps.settings.retryCredentials();
  }

  /** `/readyz` responds with 503 while calls are still served. Load balancers have the returned time to notice this. */
  announceClose(): { readonly drainDelayMs: number } {
    this.#deps.status.announceClose();
    return { drainDelayMs: this.#deps.settings.current.config.server.drainDelay };
  }

  /** Refuses new calls, waits for those in flight up to the configured limit, and stops everything. */
  async close(): Promise<void> {
    this.#deps.status.announceClose();
    await this.#deps.shutDown();
  }
}
