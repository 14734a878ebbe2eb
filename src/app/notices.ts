import { randomBytes } from 'node:crypto';
import type { PlacedLanes } from '../accounting/partitions/placed-lanes.ts';
import type { Config } from '../config/schema.ts';
import type { PartitionedDatabases } from '../db/home-lanes.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import { AddressRanges } from '../lib/ip-address.ts';
import { type Logger, loggerWith } from '../lib/logger.ts';
import type { AccountTerms } from '../notices/account-decision.ts';
import { createAccountFinder } from '../notices/account-finder.ts';
import { createAccountNoticeStore } from '../notices/account-notice-store.ts';
import { createDeliveryStore } from '../notices/delivery-store.ts';
import { createDispatcher, type DeliveryFigures } from '../notices/dispatcher.ts';
import { createEndpointStore } from '../notices/endpoint-store.ts';
import { createFinder } from '../notices/finder.ts';
import { createLinkMailer, type LinkForMail } from '../notices/link-mailer.ts';
import { createMailSender, type MailTerms } from '../notices/mail-sender.ts';
import { type NodeStatus, NodeWatch } from '../notices/node-watch.ts';
import { createNoticeStore, type NewNotices } from '../notices/notice-store.ts';
import { createCountSend } from '../notices/send-rate-store.ts';
import { ratesOfMail } from '../notices/send-rates.ts';
import { type Resolve, resolveByName } from '../notices/target.ts';
import { createThresholdStore } from '../notices/threshold-store.ts';
import { createWebhookSender } from '../notices/webhook-sender.ts';
import { createWebhooks, type Webhooks } from '../notices/webhooks.ts';
import { allRoutes } from '../providers/catalog/catalog.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { SettingsInForce } from './settings-in-force.ts';

/** What a test sets of the notices of a gateway. */
export interface NoticeOptions {
  /** How often is looked for notices, and for what is to be sent. */
  readonly intervalMs?: number;
  readonly resolve?: Resolve;
  /** How long an attempt may take. */
  readonly deadlineMs?: number;
  readonly graceMs?: number;
}

interface NoticesParts {
  readonly databases: PartitionedDatabases;
  /** Connection pools of the management APIs. */
  readonly adminLanes: PlacedLanes;
  readonly settings: SettingsInForce;
  readonly health: RouteHealth;
  readonly nodeId: string;
  readonly clock: Clock;
  /** The database's clock, as far as this node knows it. */
  readonly databaseClock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly options: NoticeOptions;
}

/** The notices of a node: they are found and sent in the background. */
export interface Notices {
  readonly webhooks: Webhooks;
  readonly lowBalanceNano: () => bigint | null;
  readonly figures: () => DeliveryFigures;
  /** Sends a link that works once to its person, where mail is configured and the address is known. */
  readonly deliverLink: (link: LinkForMail) => void;
  /** As `CountMail` of one-time links. */
  readonly countMail: (accountId: string | null, email: string) => Promise<number>;
  start(): void;
  /** Looks for what is due, and sends it. For tests. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

export function createNotices(parts: NoticesParts): Notices {
  const { databases, adminLanes, settings, health, nodeId, clock, databaseClock, ids, logger, options } = parts;
  const { directory, partitions } = databases;
  const several = partitions.length > 1;
  const lane = directory.lane('notices');
  const config = (): Config => settings.current.config;
  const allowed = allowedNetworks(config);
  const mailTerms = (): MailTerms | null => mailTermsOf(config());
  const interval = options.intervalMs === undefined ? {} : { intervalMs: options.intervalMs };
  const newNotices = (): NewNotices => ({
    atMs: databaseClock.nowMs(),
    nextId: () => ids.next('ntc'),
    hasMail: mailTerms() !== null,
  });
  const countSend = createCountSend(lane);
  const dispatcher = createDispatcher({
    store: createDeliveryStore(lane),
    sendWebhook: createWebhookSender({
      allowed,
      resolve: options.resolve ?? resolveByName,
      ...(options.deadlineMs !== undefined && { deadlineMs: options.deadlineMs }),
    }),
    countMail: (accountId, address, nowMs) => countSend(ratesOfMail('notice', accountId, address), new Date(nowMs)),
    sendMail() {
      const terms = mailTerms();
      return terms === null ? null : createMailSender(terms);
    },
    clock: databaseClock,
    ids,
    randomSource: Math.random,
    logger,
    ...interval,
    ...(options.graceMs !== undefined && { graceMs: options.graceMs }),
  });
  const linkMailer = createLinkMailer({ terms: mailTerms, logger });
  const finderParts = {
    options: newNotices,
    onNotices: dispatcher.wake,
    intervalMs: options.intervalMs ?? FINDER_INTERVAL_MS,
  };
  const finder = createFinder({
    ...finderParts,
    store: createNoticeStore(lane),
    terms: () => ({ routeDownAfterMs: config().notices.routeDownAfter, keptMs: config().retention.notices }),
    status: () => statusOf(settings, health, clock.nowMs()),
    watch: new NodeWatch(nodeId),
    clock: databaseClock,
    logger,
  });
  const accountFinders = partitions.map((partition, number) =>
    createAccountFinder({
      ...finderParts,
      accounts: createAccountNoticeStore(partition.lane('notices'), number),
      terms: () => accountTerms(settings),
      logger: several ? loggerWith(logger, { partition: number }) : logger,
    }),
  );
  const finders = [finder, ...accountFinders];
  return {
    webhooks: createWebhooks({
      store: createEndpointStore(adminLanes.directory),
      thresholds: createThresholdStore(adminLanes),
      allowed,
      clock: databaseClock,
      ids,
      randomBytes,
      onQueued: dispatcher.wake,
    }),
    lowBalanceNano: () => config().notices.lowBalanceYuan ?? null,
    figures: () => dispatcher.figures,
    deliverLink: linkMailer.send,
    countMail: async (accountId, email) =>
      mailTerms() === null ? 0 : countSend(ratesOfMail('link', accountId, email), new Date(databaseClock.nowMs())),
    start() {
      for (const each of finders) each.start();
      dispatcher.start();
    },
    async settle() {
      // What is found is sent, whatever another one fails at.
      const rounds = await Promise.allSettled(finders.map((each) => each.round()));
      await dispatcher.settle();
      const failed = rounds.find((round) => round.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    },
    async stop() {
      await Promise.all(finders.map((each) => each.stop()));
      await dispatcher.stop();
      await linkMailer.stop();
    },
  };
}

const FINDER_INTERVAL_MS = 2_000;

/** What decides which accounts are told something. */
function accountTerms({ current }: SettingsInForce): Omit<AccountTerms, 'nowMs'> {
  const { lowBalanceYuan, planPercents } = current.config.notices;
  return {
    lowBalanceNano: lowBalanceYuan ?? null,
    planPercents: planPercents.toSorted((one, other) => one - other),
    plans: new Map(current.plans.map((plan) => [plan.id, plan])),
  };
}

/** Webhook endpoints for a command that opens the database itself: what it queues is sent when a gateway runs. */
export function createLocalWebhooks(config: Config, lanes: PlacedLanes, clock: Clock, ids: Ids): Webhooks {
  return createWebhooks({
    store: createEndpointStore(lanes.directory),
    thresholds: createThresholdStore(lanes),
    allowed: allowedNetworks(() => config),
    clock,
    ids,
    randomBytes,
    onQueued: () => undefined,
  });
}

/** The allowed networks of the configuration in force, made once for each. */
function allowedNetworks(config: () => Config): () => AddressRanges {
  let of: Config | null = null;
  let ranges = new AddressRanges([]);
  return () => {
    const current = config();
    if (current !== of) ranges = new AddressRanges(current.notices.allowNetworks);
    of = current;
    return ranges;
  };
}

function mailTermsOf({ mail }: Config): MailTerms | null {
  if (mail === undefined) return null;
  const { host, port, tls, user, password, ca } = mail.smtp;
  return {
    host,
    port,
    tls,
    user: user ?? null,
    password: password ?? null,
    from: mail.from,
    ...(ca !== undefined && { ca }),
  };
}

/** A route without weight takes no calls, so nothing is learnt of it. */
function statusOf({ current }: SettingsInForce, health: RouteHealth, nowMs: number): NodeStatus {
  const routes = allRoutes(current.catalog).filter(({ route }) => route.weight > 0);
  const refused = new Map<string, NodeStatus['credentials'][number]>();
  for (const { route } of routes) {
    const { credentials } = current.providers.get(route.providerId);
    for (const { name, state, status } of credentials.status(route.providerModel, nowMs)) {
      const isRefused = state === 'refused';
      refused.set(JSON.stringify([route.providerId, name]), { provider: route.providerId, name, isRefused, status });
    }
  }
  return {
    routes: routes.map(({ model, route }) => {
      const { state, lastFailure } = health.status(route.id);
      return {
        id: route.id,
        model: model.id,
        provider: route.providerId,
        providerModel: route.providerModel,
        isUp: state === 'closed',
        reason: lastFailure?.reason ?? null,
      };
    }),
    credentials: [...refused.values()],
  };
}
