import type { Logger } from '../../../lib/logger.ts';
import { shareReads } from '../../../lib/shared-reads.ts';
import type { DrainedRoutes } from './drain.ts';
import type { Drain, DrainStore, DrainTarget } from './drain-store.ts';

export interface DrainNotifications {
  readonly isConnected: boolean;
  close(): Promise<void>;
}

interface DrainsOptions {
  readonly store: Pick<DrainStore, 'list'>;
  readonly changes: Pick<DrainStore, 'insert' | 'delete'>;
  /** Subscribes to notifications. `onChange` is called for each change, and when the process may have missed changes. */
  readonly listen: (onChange: () => void) => Promise<DrainNotifications>;
  readonly logger: Logger;
  readonly pollMs?: number;
}

/** Interval of reads without notifications. Every node must apply a drain within a second. */
const POLL_MS = 1_000;
/** Each node keeps all drains in memory. */
export const DRAINS_MAX = 1_000;

export type Drains = ReturnType<typeof createDrains>;

/**
 * Drains in force on this node. They are read after each notification, and every second while notifications are unavailable or after a
 * failed read. While the database is down, the last known drains stay in force.
 */
export function createDrains({ store, changes, listen, logger, pollMs = POLL_MS }: DrainsOptions) {
  let drains: readonly Drain[] = [];
  let byProvider: ReadonlyMap<string, readonly Drain[]> = new Map();
  let isStale = true;
  let notifications: DrainNotifications | null = null;
  let timer: NodeJS.Timeout | undefined;

  const read = shareReads<void>(async () => {
    drains = await store.list();
    byProvider = Map.groupBy(drains, ({ providerId }) => providerId);
    isStale = false;
  });

  async function refresh(): Promise<void> {
    try {
      await read('');
    } catch (error) {
      // Only the first failure of an outage is logged, not one per second.
      if (!isStale) logger.warn({ err: error }, 'failed to read the drained routes; using the last known ones');
      isStale = true;
    }
  }

  const find: DrainedRoutes['find'] = (modelId, { providerId, providerModel }) =>
    byProvider
      .get(providerId)
      ?.find(
        (drain) =>
          (drain.model === null || drain.model === modelId) &&
          (drain.providerModel === null || drain.providerModel === providerModel),
      ) ?? null;

  return {
    find,
    list: (): readonly Drain[] => drains,
    /** Reads the drains. If this fails, logs the failure and tries again later. */
    refresh,
    async begin(drain: Drain): Promise<Drain | 'too_many'> {
      await refresh();
      if (drains.length >= DRAINS_MAX) return 'too_many';
      const begun = await changes.insert(drain);
      await refresh();
      return begun;
    },
    async end(target: DrainTarget): Promise<Drain | null> {
      const ended = await changes.delete(target);
      await refresh();
      return ended;
    },
    /** @throws if the database is down */
    async start(): Promise<void> {
      notifications = await listen(() => void refresh());
      await read('');
      timer = setInterval(() => {
        if (isStale || notifications?.isConnected === false) void refresh();
      }, pollMs);
      timer.unref();
    },
    async close(): Promise<void> {
      clearInterval(timer);
      await notifications?.close();
    },
  };
}
