import { totalmem } from 'node:os';
import { BODIES_MAX } from '../api/management/request-body.ts';
import type { ManagementWatch } from '../api/management/serve.ts';
import { STREAMS_MAX } from '../api/management/streamed-lines.ts';
import { PLACES_MAX, QUICK_THREADS_MAX, type RequestWorkersOptions } from '../calls/request-workers.ts';
import type { Config } from '../config/schema.ts';
import { STATEMENT_CONNECTIONS_MAX } from '../db/pools.ts';
import {
  type BodyBudgetLimits,
  type BodyBudgets,
  defaultBodyMemoryBytes,
  defaultUploadDiskBytes,
  LARGEST_IN_MEMORY,
  LARGEST_ON_DISK,
} from '../http/body-budgets.ts';
import { perAddressMax } from '../http/connections.ts';
import type { Disk } from '../journal/disk.ts';
import { TimeShares } from '../lib/fair/time-shares.ts';
import { type Part, partOf } from '../lib/part.ts';
import { RECORDED_A_MINUTE } from '../requests/refusal.ts';

/**
 * Divides limits in memory between workers. The primary passes connections round-robin, so workers use their shares evenly. The shares add
 * up to the configured limit, unless a share would be too small for a single call (`settingsBeyond`). Not divided are limits that protect a
 * process from a single request, breakers, notice deliveries, limits in the database, and guesses (`guesses.ts`). The refusal throttle
 * divides its own limit (`http/refusal-throttle.ts`).
 */

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

/** Returns settings that are too small to divide: each worker gets what one call needs, so the workers together exceed the setting. */
export function settingsBeyond({ server, providers }: Config, workers: number): string[] {
  const narrow = Object.entries(providers).filter(([, { connections }]) => connections < workers);
  const { memoryBytes, diskBytes } = largestBodies(server);
  return [
    ...narrow.map(([id]) => `providers.${id}.connections`),
    ...((server.bodyMemory ?? Number.POSITIVE_INFINITY) < memoryBytes * workers ? ['server.bodyMemory'] : []),
    ...((server.uploadDisk ?? Number.POSITIVE_INFINITY) < diskBytes * workers ? ['server.uploadDisk'] : []),
  ];
}

/** Returns the budgets of a worker: at least what one body of the largest size needs. */
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

/** Adapts the budgets of bodies to the configuration, and to the available memory and disk space. */
export async function setBodyBudgets(
  bodyBudgets: BodyBudgets,
  disk: Disk,
  dataDir: string,
  config: () => Config,
  part: Part,
): Promise<void> {
  const freeBytes = await disk.freeBytes(dataDir).catch(() => Number.POSITIVE_INFINITY);
  const { server } = config();
  // Without a limit of the system, this is 0 or far more than the memory of the machine.
  const constrainedBytes = process.constrainedMemory();
  const memoryBytes = constrainedBytes > 0 ? Math.min(constrainedBytes, totalmem()) : totalmem();
  const whole = {
    memoryBytes: server.bodyMemory ?? defaultBodyMemoryBytes(memoryBytes, server.bodyLimit),
    diskBytes: server.uploadDisk ?? defaultUploadDiskBytes(freeBytes + bodyBudgets.diskUsedBytes),
  };
  bodyBudgets.change(budgetsOfWorker(whole, server, part));
}

function largestBodies({ bodyLimit, editBodyLimit }: Pick<Config['server'], 'bodyLimit' | 'editBodyLimit'>) {
  return { memoryBytes: LARGEST_IN_MEMORY * bodyLimit, diskBytes: LARGEST_ON_DISK * editBodyLimit };
}

/**
 * Limits of each account and user at the management APIs. A console page sends at most ten requests, a fraction of the burst. Requests
 * mostly wait for the database, so two at a time leave connections to other tenants.
 */
export const TENANT_SHARE = { atOnceMax: 2, waitingMax: 50, burstMs: 5_000, share: 0.5 };

export function tenantLimits(part: Part): Required<Pick<ManagementWatch, 'shares' | 'atOnceMax'>> {
  const { atOnceMax, waitingMax, burstMs, share } = TENANT_SHARE;
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

/** A list of thousands of models takes the serving thread for some milliseconds, so a caller's lists leave time for the calls of others. */
export function createListShares({ count }: Part): TimeShares {
  return new TimeShares({ atOnceMax: 1, waitingMax: 0, burstMs: 500 / count, share: 0.25 / count });
}

export function requestWorkerLimits(part: Part): Pick<RequestWorkersOptions, 'quickThreadsMax' | 'placesMax'> {
  return { quickThreadsMax: partOf(QUICK_THREADS_MAX, part), placesMax: partOf(PLACES_MAX, part) };
}

export function refusalsRecorded(part: Part): number {
  return partOf(RECORDED_A_MINUTE, part);
}

/** Minimum number of connections. With fewer, look-ups of keys would wait for each other. */
const STATEMENT_CONNECTIONS_MIN = 3;

/** Returns a worker's number of connections for single statements. Other pools need few, so theirs are not divided. */
export function statementConnections(part: Part): number {
  return Math.max(partOf(STATEMENT_CONNECTIONS_MAX, part), STATEMENT_CONNECTIONS_MIN);
}

function mapValues<Value>(
  values: Readonly<Record<string, Value>>,
  change: (value: Value) => Value,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}
