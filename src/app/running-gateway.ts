import type { FastifyInstance } from 'fastify';
import type { SettingsInForce } from '../calls/settings-in-force.ts';
import type { ConfigLoads } from '../config/loads.ts';
import type { NodeConfig } from '../config/node-config.ts';
import {
  CatalogFollower,
  type FollowedSecrets,
  type FollowerOptions,
  type ScheduledConfig,
} from '../config/revisions/follower.ts';
import { insertFirstRevision } from '../config/revisions/initial-catalog.ts';
import type { NodeCatalog } from '../config/revisions/node-catalog.ts';
import { CATALOG_CHANNEL, createRevisionStore } from '../config/revisions/revisions-store.ts';
import type { Config } from '../config/schema.ts';
import { ConfigWatcher, type ConfigWatcherOptions } from '../config/watch.ts';
import type { Databases } from '../db/databases.ts';
import type { ReadReadiness } from '../http/health.ts';
import { addressOf } from '../http/listening.ts';
import type { Logger } from '../lib/logger.ts';
import type { Part } from '../lib/part.ts';
import { allRoutes } from '../providers/catalog/catalog.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { MetricsReport } from '../telemetry/summed-metrics.ts';
import type { Accounting } from './accounting.ts';
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
  readonly catalog: NodeCatalog;
  readonly databases: Pick<Databases, 'directory'>;
  readonly accounting: Pick<Accounting, 'databaseClock'>;
  readonly logger: Logger;
  readonly health: RouteHealth;
  readonly housekeeping: Housekeeping;
  readonly publicApi: PublicApi;
  readonly management: ManagementApis;
  readonly servedMetrics: ServedMetrics;
  readonly status: NodeStatus;
  readonly updateBodyBudgets: () => Promise<void>;
  readonly shutDown: () => Promise<void>;
}

interface FollowedConfigOptions extends Pick<ConfigWatcherOptions, 'pollMs' | 'settleMs'> {
  /** Records each later load of the configuration. */
  readonly loads: ConfigLoads;
  /** The sealed secrets that the configuration can use; absent: none. */
  readonly secrets?: FollowedSecrets;
  /** Called when an operator requests a reload, to tell other workers. */
  readonly onReload?: () => void;
  /** Called with each configuration that comes into force. */
  readonly onApplied: (config: Config) => void;
}

const NO_SECRETS: FollowedSecrets = { areOpen: true, read: async () => false };

/** Stands for the database's revisions if the catalog is in the file, so that only secrets are read from the database. */
const NO_REVISIONS: Pick<FollowerOptions, 'store' | 'apply'> = {
  store: { latest: async () => ({ nowMs: 0, current: null, scheduled: [] }) },
  apply: () => undefined,
};

/** A complete gateway, as `serve` and tests use it. */
export class RunningGateway {
  /** Server. Its `inject` reaches every address without a socket. */
  readonly app: FastifyInstance;
  /** Identifies this process in reservations, journals and logs. */
  readonly nodeId: string;
  /** For tests. */
  readonly notices: Pick<Notices, 'settle'>;
  /** For tests. */
  readonly housekeeping: Pick<Housekeeping, 'round'>;
  /** Metrics and readiness of this worker, which the primary reads. */
  readonly own: { readonly report: () => Promise<MetricsReport>; readonly readReadiness: ReadReadiness };
  readonly #deps: GatewayDependencies;
  #metricsUrl: string | null = null;
  /** Follows sealed secrets if the catalog is in the file; otherwise `null`. */
  #secretsFollower: CatalogFollower | null = null;

  constructor(deps: GatewayDependencies) {
    this.#deps = deps;
    this.app = deps.app;
    this.nodeId = deps.nodeId;
    this.notices = deps.management.notices;
    this.housekeeping = deps.housekeeping;
    this.own = { report: deps.servedMetrics.report, readReadiness: deps.status.readReadiness };
  }

  /** Starts to listen. Returns the address, such as `http://127.0.0.1:8080`. */
  async listen(): Promise<string> {
    const { host, port } = this.#deps.settings.current.config.server;
    await this.app.listen({ host, port });
    this.#metricsUrl = await this.#deps.servedMetrics.listen();
    return addressOf(this.app, host);
  }

  /** Address of metrics without a token; `null` before `listen`, or if none is configured. */
  get metricsUrl(): string | null {
    return this.#metricsUrl;
  }

  /** Returns the number of an account's calls in this node's admission queue. */
  callsWaiting(accountId: string): number {
    return this.#deps.publicApi.admissionQueue.waiting(accountId);
  }

  /**
   * Applies another configuration to calls that begin from now on. The listening address and the database stay the same.
   *
   * @param fromMs instant of the database's clock from which its prices are in force; `null`: from now on
   */
  reload(next: Config, fromMs: number | null = null): void {
    const { part, settings, health, publicApi, management, status, updateBodyBudgets } = this.#deps;
    // All workers reload the same file, so only the first one records this. A pushed revision was recorded before.
    if (part.index === 0 && fromMs === null) management.reloadLog.record(settings.current.config, next);
    settings.change(next, fromMs);
    void updateBodyBudgets();
    publicApi.reload(next);
    health.keepOnly(new Set(allRoutes(settings.current.catalog).map(({ route }) => route.id)));
    status.reloaded();
  }

  /** Announces the configurations whose prices are in force from instants of the database's clock on, in order of time. */
  schedule(scheduled: readonly ScheduledConfig[]): void {
    this.#deps.settings.schedule(scheduled);
  }

  /**
   * Keeps the configuration at its file, at the sealed secrets and, with `catalog: database`, at the revision of the catalog in force. The
   * caller closes the watcher before the gateway.
   *
   * @throws ConfigError if the revision in force, or the initial catalog of an empty database, cannot be used
   */
  async followConfig(
    current: Config,
    { loads, onReload, onApplied, secrets = NO_SECRETS, ...timing }: FollowedConfigOptions,
  ): Promise<ConfigWatcher> {
    const { catalog, databases, logger, part, management } = this.#deps;
    const { node } = catalog;
    if (node === null) throw new Error('the gateway was created without a configuration file');
    const watcher = new ConfigWatcher({
      ...timing,
      node,
      current,
      logger,
      loads,
      apply: (next, fromMs) => {
        this.reload(next, fromMs);
        onApplied(next);
      },
      onUnchanged: () => this.retryCredentials(),
      onDecided: (isInForce) => this.configDecided(isInForce),
      onRefused: (message) => {
        if (part.index === 0) management.reloadLog.refuse(message);
      },
    });
    try {
      if (current.catalog === 'database') {
        const store = createRevisionStore(databases.directory.pool('probes'));
        await insertFirstRevision({ store, node, settings: current, nodeId: this.nodeId });
        const apply: FollowerOptions['apply'] = (text, fromMs) => watcher.useCatalog(text, fromMs);
        catalog.follower = this.#follower(node, { secrets, store, apply });
        await catalog.follower.start();
      } else {
        this.#secretsFollower = this.#follower(node, { secrets, ...NO_REVISIONS, onSecrets: watcher.reload });
        await this.#secretsFollower.start();
        if (part.index === 0) management.reloadLog.recordCatalog();
      }
    } catch (error) {
      watcher.close();
      throw error;
    }
    catalog.reload = async () => {
      onReload?.();
      await this.#secretsFollower?.refresh();
      await Promise.all([watcher.reloadNow(), catalog.follower?.refresh()]);
    };
    return watcher;
  }

  #follower(
    node: NodeConfig,
    source: Pick<FollowerOptions, 'secrets' | 'store' | 'apply' | 'onSecrets'>,
  ): CatalogFollower {
    const { databases, accounting, logger } = this.#deps;
    return new CatalogFollower({
      ...source,
      listen: (onChange) => databases.directory.subscribe(CATALOG_CHANNEL, onChange, onChange),
      parse: (text) => node.parse({ catalog: text }).config,
      schedule: (scheduled) => this.schedule(scheduled),
      clock: accounting.databaseClock,
      logger,
    });
  }

  /** Records, for the metrics, whether the configuration file that was last read is valid and in force. */
  configDecided(isInForce: boolean): void {
    this.#deps.status.configDecided(isInForce);
  }

  /** Tries refused credentials of providers again, as a reload does. */
  retryCredentials(): void {
    this.#deps.settings.retryCredentials();
  }

  /** Makes `/readyz` respond with 503, while calls are still served. Load balancers have the returned time to notice this. */
  announceClose(): { readonly drainDelayMs: number } {
    this.#deps.status.announceClose();
    return { drainDelayMs: this.#deps.settings.current.config.server.drainDelay };
  }

  /** Refuses new calls, waits for those in flight up to the configured limit, and stops everything. */
  async close(): Promise<void> {
    this.#deps.status.announceClose();
    await this.#deps.catalog.follower?.close();
    await this.#secretsFollower?.close();
    await this.#deps.shutDown();
  }
}
