import { routedLedger } from '../accounting/ledger/ledger-store.ts';
import { inEachPartition, type Routes } from '../accounting/partitions/routes.ts';
import { routedSubscriptions } from '../accounting/plans/routed-subscriptions.ts';
import { routedKeyBudgets } from '../accounting/reservations/key-budget-store.ts';
import { joinPartitionAdmins } from './admin-stores.ts';
import { joinCalls } from './joined-calls.ts';
import type { PartitionAccounting } from './partition-accounting.ts';

/** What the housekeeping does in each of them has no joined form (`housekeeping.ts`). */
type JoinedAccounting = Omit<PartitionAccounting, 'questions' | 'housekeeping'> &
  Pick<ReturnType<typeof joinCalls>, 'questions'>;

/**
 * The accounting of all partitions as one: what is about an account goes to its partition, and what is about all of them to each. With one
 * partition it is that of this one, and costs nothing.
 */
export function joinPartitions(routes: Routes<PartitionAccounting>): JoinedAccounting {
  const { all } = routes;
  if (all.length === 1) return all[0]!;

  async function noteUse(accountId: string, keyId: string): Promise<void> {
    const { keyUses } = await routes.of(accountId);
    keyUses.note(accountId, keyId);
  }

  return {
    ...joinCalls(routes),
    admin: joinPartitionAdmins(routes.map(({ admin }) => admin)),
    balances: {
      ledger: routedLedger(routes.map(({ balances }) => balances.ledger)),
      subscriptions: routedSubscriptions(routes.map(({ balances }) => balances.subscriptions)),
      keyBudgets: routedKeyBudgets(routes.map(({ balances }) => balances.keyBudgets)),
    },
    // What runs in the background: a partition that fails, or says nothing, keeps no other from its turn.
    keyUses: {
      // What is not known now is noted at the next use.
      note: (accountId, keyId) => void noteUse(accountId, keyId).catch(() => undefined),
      async stop() {
        await Promise.all(all.map(({ keyUses }) => keyUses.stop()));
      },
    },
    rollups: {
      start() {
        for (const { rollups } of all) rollups.start();
      },
      async round() {
        await inEachPartition(routes, ({ rollups }) => rollups.round());
      },
      async stop() {
        await Promise.all(all.map(({ rollups }) => rollups.stop()));
      },
    },
  };
}
