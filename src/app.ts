import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { createPrincipals } from './accounts/principals.ts';
import { createAccountStore } from './accounts/store.ts';
import { ADMIN_TOKEN_LENGTH_MIN, registerAdmin } from './admin/register.ts';
import { auditLedger } from './billing/audit.ts';
import { createCallsStore } from './billing/calls-store.ts';
import { createLedgerStore } from './billing/ledger-store.ts';
import { createAdmit } from './call/admission.ts';
import { createCallRunner } from './call/call.ts';
import { CALL_HEADER_NAMES } from './call/call-headers.ts';
import { ABORT_LIMITS, type AbortLimits } from './call/client-abort.ts';
import { createCallLook } from './call/look.ts';
import { createOnceRunner } from './call/once.ts';
import { createPrepare } from './call/prepared-call.ts';
import { createSettings, type Settings } from './call/settings.ts';
import { allRoutes } from './catalog/catalog.ts';
import { createPublicCatalog } from './catalog/public-catalog.ts';
import type { Config } from './config/schema.ts';
import { type Database, isDataError } from './db/database.ts';
import { readDatabaseIdentity } from './db/identity.ts';
import { migrate } from './db/migrate.ts';
import { makePrivateDirectory } from './db/private-directory.ts';
import { createRefusals } from './endpoints/refusals.ts';
import { registerEndpoints } from './endpoints/register.ts';
import { endpointTable, publishedOperations } from './endpoints/table.ts';
import { envelopeOfUnknown } from './endpoints/unknown-address.ts';
import {
  type BodyBudgetLimits,
  BodyBudgets,
  defaultBodyMemoryBytes,
  defaultUploadDiskBytes,
} from './http/body-budgets.ts';
import { createClientAddresses } from './http/client-address.ts';
import { registerCors } from './http/cors.ts';
import { registerHealth } from './http/health.ts';
import { addressOf, closeServer } from './http/listening.ts';
import { RefusalBrake } from './http/refusal-brake.ts';
import { createHttpServer } from './http/server.ts';
import { sweepSpool } from './http/spool.ts';
import { createKeptAnswers } from './idempotency/kept-answers.ts';
import { createKeptAnswerStore } from './idempotency/store.ts';
import { createKeyLimitStore } from './key-limits/store.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { createIds } from './lib/ids.ts';
import type { Logger } from './lib/logger.ts';
import { OutputSpeeds } from './metering/output-speed.ts';
import { createNodes } from './nodes/nodes.ts';
import { createNodeStore } from './nodes/store.ts';
import { createRequestWorkers, type RequestWorkersOptions } from './operations/request-workers.ts';
import { findCurrentPlan } from './plans/snapshot.ts';
import { createSubscriptionStore } from './plans/subscriptions-store.ts';
import { createTurns } from './plans/turns.ts';
import { createReservations } from './reservations/reservations.ts';
import { createReservationStore } from './reservations/store.ts';
import { createAffinities } from './routing/affinities.ts';
import { createAffinityStore } from './routing/affinity-store.ts';
import type { Chance } from './routing/choose.ts';
import { createRouteHealth } from './routing/health.ts';
import { createDatabaseSettlement } from './settlement/database-settlement.ts';
import { type Disk, nodeDisk } from './settlement/disk.ts';
import { openJournal } from './settlement/journal.ts';
import { createRecovery } from './settlement/recovery.ts';
import { createSettlement, type SettlementTiming } from './settlement/settlement.ts';
import { createSettlementStore } from './settlement/store.ts';

export interface GatewayOptions {
  readonly config: Config;
  /** Open; `close` of the gateway closes it. */
  readonly database: Database;
  readonly logger: Logger;
  /** Credentials that open the admin API, of 16 characters at least. */
  readonly adminTokens: readonly string[];
  readonly clock?: Clock;
  /** What the rate of refusals is measured by; a clock that never goes back. */
  readonly monotonicMs?: () => number;
  readonly chance?: Chance;
  readonly timing?: SettlementTiming;
  /** How long the rest of a stream is awaited whose client has left. */
  readonly abortLimits?: Partial<AbortLimits>;
  /** What the journal writes to; the disk of this machine by default. */
  readonly disk?: Disk;
  readonly requestWorkers?: RequestWorkersOptions;
}

/** A gateway, wired together. It serves nothing until `listen`. */
export interface Gateway {
  /** The HTTP side; `inject` reaches every address without a socket. */
  readonly app: FastifyInstance;
  /** Starts to serve and answers the address, such as `http://127.0.0.1:8080`. */
  listen(): Promise<string>;
  /** How many calls of an account wait on this node for their turn at its concurrency limit. */
  callsWaiting(accountId: string): number;
  /** Takes another configuration for calls that begin from now on. Address and database stay as they are. */
  reload(config: Config): void;
  /** Stops taking calls, lets those in flight finish up to the configured limit, and closes everything. */
  close(): Promise<void>;
}

const HOUSEKEEPING_MS = 3_600_000;
/** Far longer than its five-hour window. */
const PAST_SUBSCRIPTION_MS = 24 * 3_600_000;

/** The composition root: configuration → database → domains → server. Wiring, no decisions. */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, database, logger, clock = systemClock, disk = nodeDisk } = options;
  if (options.adminTokens.some((token) => token.length < ADMIN_TOKEN_LENGTH_MIN)) {
    throw new Error(`an admin token has fewer than ${ADMIN_TOKEN_LENGTH_MIN} characters`);
  }
  const ids = createIds(clock);
  const nodeId = ids.next('node');

  // An embedded database has made it so already.
  if (database.engine !== 'embedded') makePrivateDirectory(config.database.dataDir, logger);
  await migrate(database, { onWaiting: (message) => logger.warn({}, message) });
  // Before anything is begun that would have to be ended: a data directory that cannot be used shows here.
  const directory = await journalDirectory(config, database);
  const journal = await openJournal({ directory, name: nodeId, logger, clock, disk });
  const accounts = createAccountStore(database);
  const ledger = createLedgerStore(database);
  const calls = createCallsStore(database);
  const affinities = createAffinities(createAffinityStore(database));
  const subscriptions = createSubscriptionStore(database);
  const keptAnswerStore = createKeptAnswerStore(database);
  const bodyBudgets = new BodyBudgets({ memoryBytes: 0, diskBytes: 0 });
  const setBodyBudgets = async (): Promise<void> => {
    const freeBytes = await disk.freeBytes(config.database.dataDir).catch(() => Number.POSITIVE_INFINITY);
    bodyBudgets.change(bodyBudgetLimits(settings.config, freeBytes + bodyBudgets.diskUsedBytes));
  };
  const keepHouse = async (): Promise<void> => {
    const nowMs = clock.nowMs();
    await setBodyBudgets();
    await calls.preparePartitions(new Date(nowMs));
    await affinities.forgetOld(nowMs);
    await subscriptions.forgetSlots(new Date(nowMs - PAST_SUBSCRIPTION_MS));
    await keptAnswerStore.forgetExpired(new Date(nowMs));
  };
  await calls.preparePartitions(new Date(clock.nowMs()));
  const housekeeping = setInterval(() => {
    keepHouse().catch((error: unknown) => logger.error({ err: error }, 'the regular housekeeping failed'));
  }, HOUSEKEEPING_MS);
  housekeeping.unref();

  let settings: Settings = createSettings(config);
  const today = (): string => settings.localTime.day(clock.nowMs());
  const reservationStore = createReservationStore(database);
  const reservations = createReservations({
    store: reservationStore,
    clock,
    logger,
    nodeId,
    terms: () => ({
      localTime: settings.localTime,
      defaultDailyCapNano: settings.config.billing.dailySpendCapYuan ?? null,
      plans: settings.plans,
    }),
  });
  const health = createRouteHealth(clock, () => {
    const { failures, probeAfter } = settings.config.routing.breaker;
    return { failuresMax: failures, probeAfterMs: probeAfter };
  });
  const keyLimits = createKeyLimitStore(database);
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
  const settlementStore = createSettlementStore(database);
  const settlement = createSettlement({
    database: createDatabaseSettlement({ store: settlementStore, keptAnswers, reservations, today }),
    journal,
    isDataFault: isDataError,
    logger,
    ...options.timing,
  });
  const resolveDeadCalls = createRecovery({
    reservations: reservationStore,
    settlement: settlementStore,
    nodeId,
    today,
    recoverJournals: () => settlement.recover(),
    clock,
    logger,
  });
  const nodes = createNodes({
    store: createNodeStore(database),
    nodeId,
    logger,
    sweep: resolveDeadCalls,
  });
  const spoolDirectory = join(config.database.dataDir, 'spool');
  try {
    const unsettled = await settlement.recover();
    if (database.engine === 'embedded') {
      // Nobody else can have calls in flight on an embedded database.
      await resolveDeadCalls(0);
      if (unsettled === 0) await keptAnswers.freeLeftClaims();
    } else {
      await nodes.start();
    }
    // What has to be settled may need what is old enough to be forgotten.
    await keepHouse();
    await sweepSpool(spoolDirectory);
  } catch (error) {
    // What goes on by itself would keep the process from ending.
    await nodes.stop();
    await settlement.drain();
    await reservations.drain();
    clearInterval(housekeeping);
    throw error;
  }
  const principals = await createPrincipals({ store: accounts, database, clock });

  /** Resolves when no request works with settings of an earlier configuration any more. */
  let retired: Promise<void> = Promise.resolve();
  /** The settings that requests work with. */
  const inUse = new Set([settings]);
  let isClosing = false;

  const app = createHttpServer({
    clock,
    ids,
    logger,
    isClosing: () => isClosing,
    envelopeOf: (path) => envelopeOfUnknown(path, settings.messagesNames),
    limits: config.server,
  });
  registerCors(app, () => settings.config.server.cors.origins, CALL_HEADER_NAMES);
  const table = endpointTable(config);
  const requestWorkers = createRequestWorkers(options.requestWorkers);
  const published = publishedOperations(table);
  let publicCatalog = createPublicCatalog(config, published, clock);
  const turns = createTurns();
  const runCall = createCallRunner({
    prepare: createPrepare({ affinities, health, clock, ids, chance: options.chance ?? Math.random }),
    admit: createAdmit({ reservations, turns, settlement, clock, logger }),
    settlement,
    health,
    clock,
    logger,
    abortLimits: { ...ABORT_LIMITS, ...options.abortLimits },
    speeds: new OutputSpeeds(),
    countInput: requestWorkers.count,
  });
  const addresses = createClientAddresses(config.server.trustedProxies);
  const brake = new RefusalBrake(options.monotonicMs ?? (() => performance.now()));
  registerEndpoints(app, table, {
    refusals: createRefusals({ principals, addresses, brake }),
    settings: () => settings,
    bodyBudgets,
    lookAtCall: createCallLook(reservations, clock),
    requestWorkers,
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
    { addresses, brake },
  );
  registerHealth(app, {
    isReady: async () =>
      !isClosing &&
      settlement.canTakeCalls &&
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
    callsWaiting: (accountId) => turns.waiting(accountId),
    reload(next) {
      const previous = settings;
      settings = createSettings(next, previous);
      void setBodyBudgets();
      publicCatalog = createPublicCatalog(next, published, clock);
      health.keepOnly(new Set(allRoutes(settings.catalog).map(({ route }) => route.id)));
      const { providers } = settings;
      // One after the other: a provider may live through several reloads.
      inUse.add(settings);
      retired = retired
        .then(() => previous.inFlight.idle())
        .then(() => previous.providers.retire(providers))
        .finally(() => inUse.delete(previous));
    },
    async close() {
      isClosing = true;
      turns.close();
      keptAnswers.stopWaiting();
      clearInterval(housekeeping);
      const { shutdownTimeout } = settings.config.server;
      // Calls go on without their clients, so their connections do not tell when they end.
      const cutOff = setTimeout(() => {
        const calls = [...inUse].reduce((sum, { inFlight }) => sum + inFlight.count, 0);
        logger.warn({ calls }, 'calls in flight were cut off by the shutdown');
        for (const { providers } of inUse) void providers.destroy();
      }, shutdownTimeout);
      await closeServer(app, shutdownTimeout);
      await retired;
      await settings.inFlight.idle();
      clearTimeout(cutOff);
      await settlement.drain();
      await keptAnswers.drain();
      await reservations.drain();
      await nodes.stop();
      await affinities.drain();
      await requestWorkers.close();
      await settings.providers.close();
      await principals.close();
      await database.close();
    },
  };
}

function bodyBudgetLimits({ server }: Config, freeBytes: number): BodyBudgetLimits {
  // 0, or far more than there is, where the system sets no limit.
  const constrainedBytes = process.constrainedMemory();
  const availableBytes = constrainedBytes > 0 ? Math.min(constrainedBytes, totalmem()) : totalmem();
  return {
    memoryBytes: server.bodyMemory ?? defaultBodyMemoryBytes(availableBytes, server.bodyLimit),
    diskBytes: server.uploadDisk ?? defaultUploadDiskBytes(freeBytes),
  };
}

/** Of this database alone: two nodes may share a data directory, and not the database. */
async function journalDirectory({ database: { dataDir } }: Config, database: Database): Promise<string> {
  return join(dataDir, 'journal', await readDatabaseIdentity(database));
}
