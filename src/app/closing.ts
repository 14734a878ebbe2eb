import { closeServer } from '../http/listening.ts';
import type { AdminTokens } from './admin-tokens.ts';
import type { Maintenance } from './maintenance.ts';
import type { NodeParts } from './node-parts.ts';
import type { Notices } from './notices.ts';
import type { RequestObservers } from './request-observers.ts';
import type { ServedMetrics } from './served-metrics.ts';

interface ClosedParts extends NodeParts {
  readonly adminTokens: AdminTokens;
  readonly maintenance: Maintenance;
  readonly notices: Notices;
  readonly observers: RequestObservers;
  readonly servedMetrics: ServedMetrics;
}

/**
 * Closes the parts of a gateway that refuses new calls already, in this order: the server, with the calls in flight; what
 * writes in the background, once nothing gives it more; what these calls and writes used; metrics, which show the end of all
 * that; the database.
 */
export async function closeParts(parts: ClosedParts): Promise<void> {
  const { app, accounting, logger, principals, settings } = parts;
  const { storedResponses, settlement, reservations } = accounting;
  parts.admissionQueue.close();
  storedResponses.stopWaiting();
  const maintained = parts.maintenance.stop();
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
  await parts.observers.close();
  await parts.notices.stop();
  await accounting.rollups.stop();
  await settlement.drain();
  await storedResponses.drain();
  await reservations.drain();
  await accounting.nodes.stop();
  await accounting.continuationKeys.drain();
  await parts.requestWorkers.close();
  await settings.current.providers.close();
  await principals.close();
  await accounting.drains.close();
  await accounting.keyUses.stop();
  await parts.adminTokens.stop();
  await parts.changes.stop();
  accounting.questions.stop();
  accounting.directoryQuestions.stop();
  await parts.servedMetrics.close();
  // Who has opened it closes all partitions with it.
  await parts.databases.directory.close();
}
