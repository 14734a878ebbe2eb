import { randomBytes } from 'node:crypto';
import type { PlacedPools } from '../accounting/partitions/placed-pools.ts';
import type { SettingsInForce } from '../calls/settings-in-force.ts';
import type { NodeCatalog } from '../config/revisions/node-catalog.ts';
import type { Config } from '../config/schema.ts';
import type { DirectoryPool, PartitionedDatabases } from '../db/home-pools.ts';
import type { BackgroundJob } from '../lib/background-job.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import { type Logger, loggerWith } from '../lib/logger.ts';
import { type Resolve, resolveByName } from '../lib/outgoing/target.ts';
import { createAccountFinder } from '../notices/account-finder.ts';
import { createAccountNoticeStore } from '../notices/account-notice-store.ts';
import { BudgetWatch } from '../notices/budget-watch.ts';
import { createDeliveryStore } from '../notices/delivery-store.ts';
import { createDispatcher, type DeliveryFigures, type Dispatcher } from '../notices/dispatcher.ts';
import { createEndpointStore } from '../notices/endpoint-store.ts';
import { createFinder } from '../notices/finder.ts';
import { createLinkMailer } from '../notices/link-mailer.ts';
import { createMailSender } from '../notices/mail-sender.ts';
import { NodeWatch } from '../notices/node-watch.ts';
import type { DueNotice } from '../notices/notice.ts';
import { createNoticeStore, type NewNotices } from '../notices/notice-store.ts';
import {
  accountTerms,
  allowedNetworks,
  finderTerms,
  mailTerms,
  nodeStatus,
  watchedBudgets,
} from '../notices/notice-terms.ts';
import { createCountSend } from '../notices/send-rate-store.ts';
import { ratesOfMail } from '../notices/send-rates.ts';
import { createThresholdStore } from '../notices/threshold-store.ts';
import { createWebhookSender } from '../notices/webhook-sender.ts';
import { createWebhooks, type Webhooks } from '../notices/webhooks.ts';
import type { CountMail, DeliverLink } from '../people/one-time-links.ts';
import type { RouteHealth } from '../providers/routing/health.ts';

/** For tests. */
export interface NoticeOptions {
  readonly intervalMs?: number;
  readonly resolve?: Resolve;
  /** Time limit of an attempt to deliver. */
  readonly deadlineMs?: number;
  readonly graceMs?: number;
}

interface NoticesDependencies {
  readonly databases: PartitionedDatabases;
  /** Connection pools of the management APIs. */
  readonly adminPools: PlacedPools;
  readonly settings: SettingsInForce;
  readonly health: RouteHealth;
  readonly catalog: Pick<NodeCatalog, 'follower'>;
  readonly nodeId: string;
  /** Address of the gateway for people. */
  readonly publicUrl: () => string;
  readonly clock: Clock;
  /** This node's estimate of the database's clock. */
  readonly databaseClock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly options: NoticeOptions;
}

const FINDER_INTERVAL_MS = 2_000;

export class Notices {
  readonly webhooks: Webhooks;
  /** Stores a notice that was found outside of the finders, and sends it. */
  readonly notify: (notice: DueNotice) => Promise<void>;
  readonly #settings: SettingsInForce;
  readonly #databaseClock: Clock;
  readonly #countSend: ReturnType<typeof createCountSend>;
  readonly #finders: readonly BackgroundJob[];
  readonly #dispatcher: Dispatcher;
  readonly #linkMailer: ReturnType<typeof createLinkMailer>;

  constructor(deps: NoticesDependencies) {
    const { databases, adminPools, settings, health, catalog, clock, databaseClock, ids, logger, options } = deps;
    const pool = databases.directory.pool('notices');
    const config = (): Config => settings.current.config;
    const allowed = allowedNetworks(config);
    const mail = () => mailTerms(config());
    this.#settings = settings;
    this.#databaseClock = databaseClock;
    this.#countSend = createCountSend(pool);
    this.#linkMailer = createLinkMailer({ terms: mail, logger });
    this.#dispatcher = createDispatcher({
      store: createDeliveryStore(pool),
      sendWebhook: createWebhookSender({
        allowed,
        resolve: options.resolve ?? resolveByName,
        ...(options.deadlineMs !== undefined && { deadlineMs: options.deadlineMs }),
      }),
      countMail: (accountId, address, nowMs) =>
        this.#countSend(ratesOfMail('notice', accountId, address), new Date(nowMs)),
      sendMail() {
        const terms = mail();
        return terms === null ? null : createMailSender(terms, config().notices.language, deps.publicUrl());
      },
      messageTerms: () => ({ language: config().notices.language, consoleUrl: deps.publicUrl() }),
      clock: databaseClock,
      ids,
      randomSource: Math.random,
      logger,
      ...(options.intervalMs !== undefined && { intervalMs: options.intervalMs }),
      ...(options.graceMs !== undefined && { graceMs: options.graceMs }),
    });
    this.webhooks = createWebhooks({
      store: createEndpointStore(adminPools.directory),
      thresholds: createThresholdStore(adminPools),
      allowed,
      clock: databaseClock,
      ids,
      randomBytes,
      onQueued: this.#dispatcher.wake,
    });
    const store = createNoticeStore(pool);
    const found = {
      options: (): NewNotices => ({
        atMs: databaseClock.nowMs(),
        nextId: () => ids.next('ntc'),
        hasMail: mail() !== null,
      }),
      onNotices: this.#dispatcher.wake,
      intervalMs: options.intervalMs ?? FINDER_INTERVAL_MS,
    };
    const ofNode = createFinder({
      ...found,
      store,
      terms: () => finderTerms(config()),
      status: () =>
        nodeStatus(settings.current, { health, revisions: catalog.follower?.status ?? null, nowMs: clock.nowMs() }),
      watch: new NodeWatch(deps.nodeId),
      budgets: () => watchedBudgets(settings.current.limits?.subjects ?? []),
      budgetWatch: new BudgetWatch(),
      clock: databaseClock,
      logger,
    });
    this.notify = async (notice) => {
      await store.add([notice], found.options());
      this.#dispatcher.wake();
    };
    const ofAccounts = databases.partitions.map((partition, number) =>
      createAccountFinder({
        ...found,
        accounts: createAccountNoticeStore(partition.pool('notices'), number),
        terms: (nowMs) => accountTerms(settings.current, nowMs),
        logger: databases.partitions.length > 1 ? loggerWith(logger, { partition: number }) : logger,
      }),
    );
    this.#finders = [ofNode, ...ofAccounts];
  }

  readonly lowBalanceNano = (): bigint | null => this.#settings.current.config.notices.lowBalanceYuan ?? null;

  readonly figures = (): DeliveryFigures => this.#dispatcher.figures;

  /** Mails a one-time link if mail is configured and the recipient has an address. */
  readonly deliverLink: DeliverLink = (link) => this.#linkMailer.send(link);

  readonly hasMail = (): boolean => mailTerms(this.#settings.current.config) !== null;

  readonly countMail: CountMail = async (accountId, email, kind = 'link') => {
    if (!this.hasMail()) return 0;
    return this.#countSend(ratesOfMail(kind, accountId, email), new Date(this.#databaseClock.nowMs()));
  };

  start(): void {
    for (const finder of this.#finders) finder.start();
    this.#dispatcher.start();
  }

  /** For tests. */
  async settle(): Promise<void> {
    const rounds = await Promise.allSettled(this.#finders.map((finder) => finder.round()));
    // Delivers notices even if a finder has failed.
    await this.#dispatcher.settle();
    const failed = rounds.find((round) => round.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#finders.map((finder) => finder.stop()));
    await this.#dispatcher.stop();
    await this.#linkMailer.stop();
  }
}

/** Returns a function that stores notices, for a command. A running gateway sends them. */
export function createLocalNotify(config: Config, directory: DirectoryPool, clock: Clock, ids: Ids): Notices['notify'] {
  const store = createNoticeStore(directory);
  const nextId = () => ids.next('ntc');
  return (notice) => store.add([notice], { atMs: clock.nowMs(), nextId, hasMail: mailTerms(config) !== null });
}

/** Creates webhooks for a command. A running gateway sends the notices that it queues. */
export function createLocalWebhooks(config: Config, pools: PlacedPools, clock: Clock, ids: Ids): Webhooks {
  return createWebhooks({
    store: createEndpointStore(pools.directory),
    thresholds: createThresholdStore(pools),
    allowed: allowedNetworks(() => config),
    clock,
    ids,
    randomBytes,
    onQueued: () => undefined,
  });
}
