import type { LookedThrough } from '../../lib/slices.ts';
import { firstFound, inEachPartition, newestFirst, ofEachPartition, type Routes } from '../partitions/routes.ts';
import { type CallRecord, type CallsStore, EVERYBODY } from './calls-store.ts';

export function routedCalls(routes: Routes<CallsStore>): CallsStore {
  return {
    async findByRequest(requestId, limit, of = EVERYBODY) {
      if (of.accountId !== null) return (await routes.of(of.accountId)).findByRequest(requestId, limit, of);
      const found = await ofEachPartition(routes, (calls) => calls.findByRequest(requestId, limit, of));
      return newestFirst(found, limit);
    },
    async list(filter, beforeId, limit, timing) {
      if (filter.accountId !== null) {
        return (await routes.of(filter.accountId)).list(filter, beforeId, limit, timing);
      }
      return mergeLookedThrough(
        await ofEachPartition(routes, (calls) => calls.list(filter, beforeId, limit, timing)),
        limit,
      );
    },
    find: (id) => firstFound(routes, (calls) => calls.find(id)),
    // True as soon as one partition has dropped the month: each does so at its own time.
    isDropped: async (id) =>
      (await firstFound(routes, async (calls) => ((await calls.isDropped(id)) ? true : null))) ?? false,
    async countStarted(minutesMs) {
      const counts = await ofEachPartition(routes, (calls) => calls.countStarted(minutesMs));
      return minutesMs.map((_, i) => counts.reduce((sum, each) => sum + each[i]!, 0));
    },
    async summariseRequestIds(now) {
      await inEachPartition(routes, (calls) => calls.summariseRequestIds(now));
    },
    async prepareMonths(now) {
      await inEachPartition(routes, (calls) => calls.prepareMonths(now));
    },
  };
}

/** Merges pages of several partitions. Items older than any cursor are left out, because that partition may still have newer ones. */
export function mergeLookedThrough<Item extends Pick<CallRecord, 'id'>>(
  pages: readonly LookedThrough<Item>[],
  limit: number,
): LookedThrough<Item> {
  // Cursors are ids, and ids sort by time.
  const stopped = pages.flatMap(({ next }) => (next === null ? [] : [next])).reduce(later, '');
  const items = newestFirst(
    pages.map(({ items }) => items.filter(({ id }) => id >= stopped)),
    limit + 1,
  );
  if (items.length > limit) return { items: items.slice(0, limit), next: items[limit - 1]!.id };
  return { items, next: stopped === '' ? null : stopped };
}

const later = (left: string, right: string): string => (left > right ? left : right);
