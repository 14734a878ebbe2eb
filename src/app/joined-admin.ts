import { routedLedger } from '../accounting/ledger/ledger-store.ts';
import type { Routes } from '../accounting/partitions/routes.ts';
import { routedSubscriptions } from '../accounting/plans/routed-subscriptions.ts';
import { routedKeyBudgets } from '../accounting/reservations/key-budget-store.ts';
import { joinPartitionAdmins } from './admin-stores.ts';
import type { PartitionAccounting } from './partition-accounting.ts';

/** What people and keys ask of all partitions, and change in them. */
export const joinAdmin = (routes: Routes<PartitionAccounting>): Pick<PartitionAccounting, 'admin' | 'balances'> => ({
  admin: joinPartitionAdmins(routes.map(({ admin }) => admin)),
  balances: {
    ledger: routedLedger(routes.map(({ balances }) => balances.ledger)),
    subscriptions: routedSubscriptions(routes.map(({ balances }) => balances.subscriptions)),
    keyBudgets: routedKeyBudgets(routes.map(({ balances }) => balances.keyBudgets)),
  },
});
