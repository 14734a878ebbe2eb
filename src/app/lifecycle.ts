import type { FastifyInstance } from 'fastify';
import type { Principals } from '../accounting/accounts/principals.ts';
import type { SettingsInForce } from '../calls/settings-in-force.ts';
import { checkDemoMark, setDemoMark } from '../db/demo-mark.ts';
import type { DirectoryDatabase } from '../db/home-pools.ts';
import { requireReadableSchema } from '../db/migrate.ts';
import { addedMeanwhile, makePartitions, migrateAll } from '../db/partitions.ts';
import { makePrivateDirectory } from '../db/private-directory.ts';
import { closeServer } from '../http/listening.ts';
import type { Logger } from '../lib/logger.ts';
import type { Accounting } from './accounting.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { Housekeeping } from './housekeeping.ts';
import type { ManagementApis } from './management-apis.ts';
import type { ServedMetrics } from './node-status.ts';
import type { PublicApi } from './served-endpoints.ts';

/**
 * Creates the data directory, migrates the database and creates configured partitions.
 * @throws DemoMarkError if only one of database and gateway is the demo's; SchemaError if the schema is unusable or cannot be created
 */
export async function prepareDatabases(options: GatewayOptions): Promise<void> {
  const { config, databases, logger, servedAs = { isDemo: false, demoAccountId: null } } = options;
  makePrivateDirectory(config.database.dataDir, logger);
  await requireReadableSchema(databases.directory);
  // The mark is checked before and after the migration, because another node can set it in between.
  await checkDemoMark(databases.directory, servedAs);
  await openPartitions(options);
  await setDemoMark(databases.directory, servedAs);
}

/** Opens partitions, including those that other processes add at the same time. */
async function openPartitions({ config, databases, logger, stopped }: GatewayOptions): Promise<void> {
  const waits = { onWaiting: (message: string): void => logger.warn({}, message), stopped };
  await migrateAll(databases, waits);
  const configured = config.database.partitions;
  const created = await makePartitions(databases, configured, waits);
  if (created.length > 0) logger.info({ partitions: created }, 'partitions were created, for new accounts');
  const { length } = databases.partitions;
  if (configured < length) {
    logger.info(
      { configured, partitions: length },
      'the database has more partitions than database.partitions configures; the gateway serves all of them, because they cannot be removed',
    );
  }
}

interface StartDependencies {
  readonly accounting: Accounting;
  readonly housekeeping: Housekeeping;
  /** Whether no other process can use the database, because it is local. */
  readonly isOnlyNode: boolean;
  readonly removeOldUploads: () => Promise<unknown>;
}

/**
 * Recovers the work of earlier processes before the first call. Settlement records in journals come first, because their outcomes are
 * known. Then come calls of dead nodes, housekeeping, and uploads on disk.
 * @throws if a phase fails; everything that was started is then stopped
 */
export async function recoverAndStart({ accounting, housekeeping, ...deps }: StartDependencies): Promise<void> {
  const { addedPartitions, settlement, reservations, storedResponses, nodes } = accounting;
  try {
    const unsettled = await settlement.recover();
    if (deps.isOnlyNode) {
      // All calls in flight belong to processes that are dead.
      await accounting.resolveDeadCalls(0);
      if (unsettled === 0) await storedResponses.freeLeftClaims();
    }
    await nodes.start(deps.isOnlyNode);
    // From now on, partitions that others add stay empty until this node has stopped. Those added before may have accounts already.
    if (addedPartitions.count > 0) throw addedMeanwhile(addedPartitions.opened);
    await housekeeping.start();
    await deps.removeOldUploads();
  } catch (error) {
    await nodes.stop();
    await settlement.drain();
    await reservations.drain();
    await housekeeping.stop();
    throw error;
  }
}

interface ShutDownDependencies {
  readonly app: FastifyInstance;
  readonly directory: DirectoryDatabase;
  readonly accounting: Accounting;
  readonly settings: SettingsInForce;
  readonly principals: Principals;
  readonly housekeeping: Housekeeping;
  readonly publicApi: PublicApi;
  readonly management: ManagementApis;
  readonly metrics: ServedMetrics;
  readonly flushObservers: () => Promise<unknown>;
  readonly logger: Logger;
}

/**
 * Shuts down a gateway that already refuses new calls, in this order: server and calls in flight, background writers, components that both
 * used, metrics, and finally the database.
 */
export async function shutDown(deps: ShutDownDependencies): Promise<void> {
  const { app, accounting, settings, publicApi, management, logger } = deps;
  const { storedResponses, settlement, reservations } = accounting;
  publicApi.admissionQueue.close();
  storedResponses.stopWaiting();
  const keptHouse = deps.housekeeping.stop();
  const { shutdownTimeout } = settings.current.config.server;
  // A call may continue after its client has left, and so last longer than the server's connections.
  const cutOff = setTimeout(() => {
    logger.warn({ calls: settings.requestsInFlight }, 'the shutdown ended calls that were still in flight');
    settings.cutOff();
  }, shutdownTimeout);
  await closeServer(app, shutdownTimeout);
  await settings.idle();
  clearTimeout(cutOff);
  await keptHouse;
  await deps.flushObservers();
  await management.notices.stop();
  await accounting.rollups.stop();
  await accounting.limitUses.stop();
  await settlement.drain();
  await storedResponses.drain();
  await reservations.drain();
  await accounting.nodes.stop();
  await accounting.continuationKeys.drain();
  await publicApi.requestWorkers.close();
  await settings.current.providers.close();
  await deps.principals.close();
  await accounting.drains.close();
  await accounting.keyUses.stop();
  await management.stop();
  accounting.questions.stop();
  accounting.directoryQuestions.stop();
  await deps.metrics.close();
  // Closes the partitions, too.
  await deps.directory.close();
}
