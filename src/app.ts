import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { createPrincipals } from './accounts/principals.ts';
import { createAccountStore } from './accounts/store.ts';
import { registerAdmin } from './admin/register.ts';
import { auditLedger } from './billing/audit.ts';
import { createBilling } from './billing/billing.ts';
import { createCallsStore } from './billing/calls-store.ts';
import { createLedgerStore } from './billing/ledger-store.ts';
import { createBillingStore } from './billing/store.ts';
import { balanceEntitlement } from './call/balance-entitlement.ts';
import { createCallRunner } from './call/call.ts';
import { CALL_HEADER_NAMES } from './call/call-headers.ts';
import { codingEntitlement } from './call/coding-entitlement.ts';
import { limitedByKey } from './call/key-entitlement.ts';
import { createOnceRunner } from './call/once.ts';
import { createSettings, type Settings } from './call/settings.ts';
import { allRoutes } from './catalog/catalog.ts';
import { createPublicCatalog } from './catalog/public-catalog.ts';
import type { Config } from './config/schema.ts';
import type { Database } from './db/database.ts';
import { migrate } from './db/migrate.ts';
import { registerEndpoints } from './endpoints/register.ts';
import { endpointTable, publishedOperations } from './endpoints/table.ts';
import type { Envelope } from './errors/envelopes.ts';
import { registerCors } from './http/cors.ts';
import { registerHealth } from './http/health.ts';
import { createHttpServer } from './http/server.ts';
import { sweepSpool } from './http/spool.ts';
import { createKeptAnswers } from './idempotency/kept-answers.ts';
import { createKeptAnswerStore } from './idempotency/store.ts';
import { createKeyLimiter } from './key-limits/key-limits.ts';
import { createKeyLimitStore } from './key-limits/store.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { createIds } from './lib/ids.ts';
import type { Logger } from './lib/logger.ts';
import type { Estimated } from './operations/estimate-worker.ts';
import { createPlans } from './plans/plans.ts';
import { findCurrentPlan } from './plans/snapshot.ts';
import { createPlanStore } from './plans/store.ts';
import { createSubscriptionStore } from './plans/subscriptions-store.ts';
import { createTurns } from './plans/turns.ts';
import { createAffinities } from './routing/affinities.ts';
import { createAffinityStore } from './routing/affinity-store.ts';
import type { Chance } from './routing/choose.ts';
import { createRouteHealth } from './routing/health.ts';
import { createTokenEstimator } from './tokens/estimator.ts';

export interface GatewayOptions {
  readonly config: Config;
  /** Open; `close` of the gateway closes it. */
  readonly database: Database;
  readonly logger: Logger;
  /** Credentials that open the admin API. */
  readonly adminTokens: readonly string[];
  readonly clock?: Clock;
  readonly chance?: Chance;
}

/** A gateway, wired together. It serves nothing until `listen`. */
export interface Gateway {
  /** The HTTP side; `inject` reaches every address without a socket. */
  readonly app: FastifyInstance;
  /** Starts to serve and answers the address, such as `http://127.0.0.1:8080`. */
  listen(): Promise<string>;
  /** Takes another configuration for calls that begin from now on. Address and database stay as they are. */
  reload(config: Config): void;
  /** Stops taking calls, lets those in flight finish up to the configured limit, and closes everything. */
  close(): Promise<void>;
}

const ESTIMATE_WORKER = fileURLToPath(import.meta.resolve('./operations/estimate-worker.ts'));

const HOUSEKEEPING_MS = 3_600_000;
/** Far longer than its five-hour window. */
const PAST_SUBSCRIPTION_MS = 24 * 3_600_000;

/** The composition root: configuration → database → domains → server. Wiring, no decisions. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, database, logger } = options;
  const clock = options.clock ?? systemClock;
  const ids = createIds(clock);

  await migrate(database);
  const accounts = createAccountStore(database);
  const ledger = createLedgerStore(database);
  const calls = createCallsStore(database);
  const affinities = createAffinities(createAffinityStore(database), logger);
  const planStore = createPlanStore(database);
  const keptAnswerStore = createKeptAnswerStore(database);
  const keepHouse = async (): Promise<void> => {
    const nowMs = clock.nowMs();
    await calls.preparePartitions(new Date(nowMs));
    await affinities.forgetOld(nowMs);
    await planStore.forgetSlots(new Date(nowMs - PAST_SUBSCRIPTION_MS));
    await keptAnswerStore.forgetExpired(new Date(nowMs));
  };
  await keepHouse();
  const housekeeping = setInterval(() => {
    keepHouse().catch((error: unknown) => logger.error({ err: error }, 'the regular housekeeping failed'));
  }, HOUSEKEEPING_MS);
  housekeeping.unref();

  let settings: Settings = createSettings(config);
  const today = (): string => settings.localTime.day(clock.nowMs());
  const principals = await createPrincipals({ store: accounts, database, clock });
  const nodeId = ids.next('node');
  const billing = createBilling({
    store: createBillingStore(database),
    clock,
    logger,
    nodeId,
    terms: () => ({
      localTime: settings.localTime,
      defaultDailyCapNano: settings.config.billing.dailySpendCapYuan ?? null,
    }),
  });
  const health = createRouteHealth(clock, () => {
    const { failures, probeAfter } = settings.config.routing.breaker;
    return { failuresMax: failures, probeAfterMs: probeAfter };
  });
  const subscriptions = createSubscriptionStore(database);
  const plans = createPlans({
    store: planStore,
    clock,
    logger,
    nodeId,
    plans: () => settings.plans,
  });
  const keyLimits = createKeyLimitStore(database);
  const keys = createKeyLimiter({ store: keyLimits, clock, logger, nodeId, today });
  const keptAnswers = createKeptAnswers({
    store: keptAnswerStore,
    clock,
    ids,
    logger,
    terms: () => {
      const { keepFor, answerLimit } = settings.config.idempotency;
      return { keptForMs: keepFor, bodyBytesMax: answerLimit };
    },
  });
  // Nobody else can have calls in flight on an embedded database.
  if (database.engine === 'embedded') {
    await billing.releaseLeftHolds();
    await plans.releaseLeftHolds();
    await keys.releaseLeftHolds();
    await keptAnswers.freeLeftClaims();
  }

  /** Resolves when no request works with settings of an earlier configuration any more. */
  let retired: Promise<void> = Promise.resolve();
  let isClosing = false;

  const app = createHttpServer({
    clock,
    ids,
    logger,
    isClosing: () => isClosing,
    envelopeOf: (path) => envelopeOf(path, settings),
    limits: config.server,
  });
  registerCors(app, () => settings.config.server.cors.origins, CALL_HEADER_NAMES);
  const table = endpointTable(config);
  const estimator = createTokenEstimator<Estimated>({ workerFile: ESTIMATE_WORKER });
  const spoolDirectory = join(config.database.dataDir, 'spool');
  await sweepSpool(spoolDirectory);
  const published = publishedOperations(table);
  let publicCatalog = createPublicCatalog(config, published, clock);
  const turns = createTurns();
  const entitlements = {
    balance: limitedByKey(balanceEntitlement(billing), keys, logger),
    coding: limitedByKey(codingEntitlement({ plans, billing, turns, clock }), keys, logger),
  };
  const runCall = createCallRunner({
    entitlements,
    affinities,
    health,
    clock,
    ids,
    chance: options.chance ?? Math.random,
    logger,
  });
  registerEndpoints(app, table, {
    principals,
    settings: () => settings,
    estimator,
    spoolDirectory,
    runCall,
    runOnce: createOnceRunner(runCall, keptAnswers),
    querySources: {
      async balanceNano(accountId) {
        const balances = await ledger.findBalances([accountId], today());
        return balances.get(accountId)?.balanceNano ?? 0n;
      },
      config: () => settings.config,
      publicCatalog: () => publicCatalog(),
      async subscription(accountId) {
        const nowMs = clock.nowMs();
        return findCurrentPlan(await subscriptions.findState(accountId, new Date(nowMs)), settings.plans, nowMs);
      },
      nowMs: () => clock.nowMs(),
    },
  });
  registerAdmin(
    app,
    {
      accounts,
      ledger,
      calls,
      principals,
      subscriptions,
      keyLimits,
      health,
      catalog: () => settings.catalog,
      plans: () => settings.plans,
      clock,
      ids,
      today,
      auditLedger: () => auditLedger(database),
    },
    options.adminTokens,
  );
  registerHealth(app, {
    isReady: async () =>
      !isClosing &&
      (await database.query({ name: 'health.ping', text: 'select 1' }).then(
        () => true,
        () => false,
      )),
  });

  return {
    app,
    async listen() {
      const { host, port } = settings.config.server;
      await app.listen({ host, port });
      return addressOf(app, host);
    },
    reload(next) {
      const previous = settings;
      settings = createSettings(next, previous);
      publicCatalog = createPublicCatalog(next, published, clock);
      health.keepOnly(new Set(allRoutes(settings.catalog).map(({ route }) => route.id)));
      const { providers } = settings;
      // One after the other: a provider may live through several reloads.
      retired = retired.then(() => previous.inFlight.idle()).then(() => previous.providers.retire(providers));
    },
    async close() {
      isClosing = true;
      turns.close();
      keptAnswers.stopWaiting();
      clearInterval(housekeeping);
      await closeServer(app, settings.config.server.shutdownTimeout, () => {
        logger.warn({ calls: settings.inFlight.count }, 'calls in flight were cut off by the shutdown');
        void settings.providers.destroy();
      });
      await retired;
      await settings.inFlight.idle();
      await keptAnswers.drain();
      await keys.drain();
      await plans.drain();
      await billing.drain();
      await affinities.drain();
      await estimator.close();
      await settings.providers.close();
      await principals.close();
      await database.close();
    },
  };
}

const IDLE_SWEEP_MS = 50;

/**
 * Stops listening and resolves when every connection has ended: idle ones at once, the others when their answer is
 * complete, and whatever is left when the time is over.
 */
async function closeServer(app: FastifyInstance, timeoutMs: number, onTimeout: () => void): Promise<void> {
  const closed = app.close();
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
  const limit = setTimeout(() => {
    onTimeout();
    app.server.closeAllConnections();
  }, timeoutMs);
  try {
    await closed;
  } finally {
    clearInterval(sweep);
    clearTimeout(limit);
  }
}

function addressOf(app: FastifyInstance, host: string): string {
  const { port } = app.server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The envelope of an address without an endpoint: that of the family whose paths it resembles. */
function envelopeOf(path: string, settings: Settings): Envelope {
  const clean = path.replace(/^\/+/, '/');
  if (clean.startsWith('/admin/')) return 'admin';
  const isMessages =
    clean.startsWith('/v1/messages') || settings.messagesNames.some((name) => clean.includes(`/${name}/`));
  return isMessages ? 'messages' : 'chat';
}
