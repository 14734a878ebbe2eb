import type { Logger } from '../../../lib/logger.ts';
import { shareReads } from '../../../lib/shared-reads.ts';
import type { DrainedRoutes } from './drain.ts';
import type { Drain, DrainStore, DrainTarget } from './drain-store.ts';

/** Notifications of changed drains. */
export interface DrainNotifications {
  /** Whether they arrive at the moment. */
  readonly isConnected: boolean;
  close(): Promise<void>;
}

interface DrainsOptions {
  readonly store: Pick<DrainStore, 'list'>;
  /** For what operators change. */
  readonly changes: Pick<DrainStore, 'insert' | 'delete'>;
  /** Calls `onChange` for each change, and where changes may have been missed. */
  readonly listen: (onChange: () => void) => Promise<DrainNotifications>;
  readonly logger: Logger;
  /** How often the drains are read while notifications do not arrive. */
  readonly pollMs?: number;
}

/** As the order of operators has it: every node heeds a drain within a second. */
const POLL_MS = 1_000;
/** More drains than anybody would look through. Each node keeps all of them in memory. */
export const DRAINS_MAX = 1_000;

export type Drains = ReturnType<typeof createDrains>;

/**
 * The drains in force on this node: those of the database when they were read last. They are read again when a change is
 * notified, and every second while notifications do not arrive or a read has failed. While the database is down, the ones read
 * last stay in force.
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
      // Once for each time that it begins to fail, and not every second.
      if (!isStale) logger.warn({ err: error }, 'the drained routes cannot be read; the ones read last stay in force');
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
    /** Reads them from the database now; if that fails, it is logged and tried again. */
    refresh,
    /** Begins a drain, or gives one that there is another reason. Every node is told; this one heeds it at once. */
    async begin(drain: Drain): Promise<Drain | 'too_many'> {
      await refresh();
      if (drains.length >= DRAINS_MAX) return 'too_many';
      const begun = await changes.insert(drain);
      await refresh();
      return begun;
    },
    /** Takes a drain back, as `begin`, and returns it; `null` if there is none of this target. */
    async end(target: DrainTarget): Promise<Drain | null> {
      const ended = await changes.delete(target);
      await refresh();
      return ended;
    },
    /** Listens for changes, and reads the drains. @throws if the database is down. */
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
