import {
  accountIdOf,
  firstFound,
  inEachPartition,
  itself,
  ofEachPartition,
  type Routes,
  routedByAccount,
} from '../partitions/routes.ts';
import type { SubscriptionStore } from './subscriptions-store.ts';

type OfAll = 'find' | 'forgetSlots' | 'nowMs' | 'countActive';

export function routedSubscriptions(routes: Routes<SubscriptionStore>): SubscriptionStore {
  return {
    ...routedByAccount<Omit<SubscriptionStore, OfAll>>(routes, {
      grant: accountIdOf,
      renew: itself,
      findRepeated: itself,
      cancel: itself,
      list: itself,
      findState: itself,
    }),
    find: (id) => firstFound(routes, (subscriptions) => subscriptions.find(id)),
    async forgetSlots(nowMs, signal) {
      const done = await inEachPartition(routes, (subscriptions) => subscriptions.forgetSlots(nowMs, signal));
      return done.every((isDone) => isDone);
    },
    // The clock of the first partition. Servers of other partitions may differ slightly.
    nowMs: () => routes.all[0]!.nowMs(),
    async countActive(planIds, now, max) {
      const counts = await ofEachPartition(routes, (subscriptions) => subscriptions.countActive(planIds, now, max));
      return new Map(
        planIds.map((planId) => {
          const active = counts.reduce((sum, count) => sum + (count.get(planId) ?? 0), 0);
          return [planId, Math.min(active, max)];
        }),
      );
    },
  };
}
