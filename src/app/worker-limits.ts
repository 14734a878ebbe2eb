import { BODIES_MAX } from '../api/management/request-body.ts';
import type { ManagementWatch } from '../api/management/serve.ts';
import { STREAMS_MAX } from '../api/management/streamed-lines.ts';
import { PLACES_MAX, QUICK_THREADS_MAX, type RequestWorkersOptions } from '../calls/request-workers.ts';
import type { Config } from '../config/schema.ts';
import { STATEMENT_CONNECTIONS_MAX } from '../db/lanes.ts';
import { type BodyBudgetLimits, LARGEST_IN_MEMORY, LARGEST_ON_DISK } from '../http/body-budgets.ts';
import { perAddressMax } from '../http/connections.ts';
import { TimeShares } from '../lib/fair/time-shares.ts';
import { type Part, partOf } from '../lib/part.ts';
import { RECORDED_A_MINUTE } from '../requests/refusal.ts';

/**
 * What workers share is divided here, and nowhere else: each limit that a process keeps in memory, and the part that a worker has of it. The
 * primary deals connections out by turns, so that parts are used evenly; together they are never more than the whole, but where a part
 * would be less than a single call needs (`settingsBeyond`).
 *
 * Not divided: what protects the thread and the memory of a single process from one request (what is read or decoded at a time, the
 * journal's entries), breakers, mails and webhooks under way, and what the database decides. Counted by the primary for all: `guesses.ts`. The brake of refusals divides itself
 * by the same part (`http/refusal-brake.ts`).
 */

/** The limits of the server and of providers, and the queues of plans, as a worker has them. Everything else is as configured. */
export function configOfWorker(config: Config, part: Part): Config {
  if (part.count === 1) return config;
  const { server } = config;
  return {
    ...config,
    server: {
      ...server,
      connections: partOf(server.connections, part),
      connectionsPerAddress: partOf(perAddressMax(server), part),
    },
    providers: mapValues(config.providers, (provider) => ({
      ...provider,
      connections: partOf(provider.connections, part),
      queue: { ...provider.queue, length: partOf(provider.queue.length, part) },
    })),
    plans: mapValues(config.plans, (plan) => ({
      ...plan,
      queue: { ...plan.queue, length: partOf(plan.queue.length, part) },
    })),
  };
}

/**
 * The settings that so many workers cannot share: each of them has to have what a single call needs, so that together they have more than
 * is configured.
 */
export function settingsBeyond({ server, providers }: Config, workers: number): string[] {
  const narrow = Object.entries(providers).filter(([, { connections }]) => connections < workers);
  const { memoryBytes, diskBytes } = largestBodies(server);
  return [
    ...narrow.map(([id]) => `providers.${id}.connections`),
    ...((server.bodyMemory ?? Number.POSITIVE_INFINITY) < memoryBytes * workers ? ['server.bodyMemory'] : []),
    ...((server.uploadDisk ?? Number.POSITIVE_INFINITY) < diskBytes * workers ? ['server.uploadDisk'] : []),
  ];
}

/** Memory and disk for bodies: the worker's part, but no less than a body of the largest size needs. */
export function budgetsOfWorker(
  { memoryBytes, diskBytes }: BodyBudgetLimits,
  server: Pick<Config['server'], 'bodyLimit' | 'editBodyLimit'>,
  part: Part,
): BodyBudgetLimits {
  const least = largestBodies(server);
  return {
    memoryBytes: Math.max(partOf(memoryBytes, part), Math.min(memoryBytes, least.memoryBytes)),
    diskBytes: Math.max(partOf(diskBytes, part), Math.min(diskBytes, least.diskBytes)),
  };
}

function largestBodies({ bodyLimit, editBodyLimit }: Pick<Config['server'], 'bodyLimit' | 'editBodyLimit'>) {
  return { memoryBytes: LARGEST_IN_MEMORY * bodyLimit, diskBytes: LARGEST_ON_DISK * editBodyLimit };
}

/**
 * What each account holder may use of the time for what it reads and changes. A page of the console asks for ten things at most, which
 * take a part of the burst. In this process most of their work is waiting for the database. One connection of their pool is left to
 * others.
 */
export const HOLDER_SHARE = { atOnceMax: 2, waitingMax: 50, burstMs: 5_000, share: 0.5 };

/** What account holders may have of the time, and under way at a time. */
export function holderLimits(part: Part): Required<Pick<ManagementWatch, 'shares' | 'atOnceMax'>> {
  const { atOnceMax, waitingMax, burstMs, share } = HOLDER_SHARE;
  return {
    shares: new TimeShares({
      atOnceMax: partOf(atOnceMax, part),
      waitingMax: partOf(waitingMax, part),
      burstMs: burstMs / part.count,
      share: share / part.count,
    }),
    atOnceMax: { streams: partOf(STREAMS_MAX, part), bodies: partOf(BODIES_MAX, part) },
  };
}

/** The threads that read large bodies, and the bodies that may wait for them. */
export function requestWorkerLimits(part: Part): Pick<RequestWorkersOptions, 'quickThreadsMax' | 'placesMax'> {
  return { quickThreadsMax: partOf(QUICK_THREADS_MAX, part), placesMax: partOf(PLACES_MAX, part) };
}

/** Refusals that are recorded one by one in a minute. */
export function refusalsRecorded(part: Part): number {
  return partOf(RECORDED_A_MINUTE, part);
}

/** Fewer connections for single statements would make key look-ups wait for each other. */
const STATEMENT_CONNECTIONS_MIN = 3;

/** Connections to the database for single statements; those of batches and lanes are few, and each worker needs its own. */
export function statementConnections(part: Part): number {
  return Math.max(partOf(STATEMENT_CONNECTIONS_MAX, part), STATEMENT_CONNECTIONS_MIN);
}

function mapValues<Value>(
  values: Readonly<Record<string, Value>>,
  change: (value: Value) => Value,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}
