import type { FastifyInstance } from 'fastify';
import { programVersion } from '../lib/version.ts';
import { allRoutes } from '../providers/catalog/catalog.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { EventLoopMonitor } from '../telemetry/event-loop.ts';
import type { NodeFigures, ProviderFigures, RouteFigures } from '../telemetry/node-figures.ts';
import type { NodeParts } from './node-parts.ts';
import type { Notices } from './notices.ts';
import type { SettingsInForce } from './settings-in-force.ts';

/** The parts of a node that metrics are read from. */
export interface MeasuredParts extends NodeParts {
  readonly eventLoop: EventLoopMonitor;
  readonly notices: Pick<Notices, 'figures'>;
  readonly reload: () => NodeFigures['reload'];
  /** With how many workers the gateway is started; 1: it is one process. */
  readonly workers: number;
  /** Whether the database responds in time; asked once for each reading. */
  readonly isDatabaseUp: () => Promise<boolean>;
  /** Whether the node takes calls, where the database responds. */
  readonly takesCalls: () => boolean;
}

/** Returns a function that reads what a node does at the moment. */
export function createNodeFigures(parts: MeasuredParts): () => Promise<NodeFigures> {
  const { app, accounting, bodyBudgets, databases, principals, settings } = parts;
  const { reservations, settlement, databaseSettlement, journal, databaseClock, storedResponses } = accounting;
  const { questions, directoryQuestions } = accounting;
  const build = { version: programVersion(), nodeVersion: process.version, engine: 'postgresql' };
  return async () => {
    const [isUp, open] = await Promise.all([parts.isDatabaseUp(), connectionsOf(app)]);
    return {
      build,
      workers: parts.workers,
      isReady: isUp && parts.takesCalls(),
      reload: parts.reload(),
      requestsInFlight: settings.requestsInFlight,
      connections: { open, max: settings.current.config.server.connections },
      refusalsDelayed: parts.brake.held,
      callsQueued: parts.admissionQueue.size,
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
        lanes: databases.figures(),
        partitions: accounting.partitionQuestions.map(({ isDown: isSilent }, number) => ({ number, isSilent })),
        partitionsUnopened: accounting.addedPartitions.count,
      },
      providers: providersOf(settings, parts.clock.nowMs()),
      routes: routesOf(settings, parts.health),
      requestWorkers: parts.requestWorkers.tasks,
      bodies: {
        used: { memoryBytes: bodyBudgets.memoryUsedBytes, diskBytes: bodyBudgets.diskUsedBytes },
        max: bodyBudgets.limits,
      },
      notices: parts.notices.figures(),
      eventLoop: parts.eventLoop.read(),
    };
  };
}

function providersOf({ current: { config, providers } }: SettingsInForce, nowMs: number): ProviderFigures[] {
  return Object.entries(config.providers).map(([id, { connections }]) => {
    const { gate, pool, credentials } = providers.get(id);
    return {
      id,
      callsUnderWay: gate.callsUnderWay,
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
