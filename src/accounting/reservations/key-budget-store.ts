import { type StoredRow, toArray } from '../../db/database.ts';
import type { PartitionLane } from '../../db/home-lanes.ts';
import { KEY_LIMITS } from '../accounts/key-limit-tables.ts';
import { type Routes, routedByAccount } from '../partitions/routes.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import { readKeys } from './account-store.ts';
import { smallestBudgetLeft } from './limits/key-budgets.ts';

/** Reads what remains of the budgets of a key, for whoever may spend by the key and does not see the balance. */
interface KeyBudgetStore {
  /** What the budget leaves that leaves least, in nano-yuan; `null` if the key has none. */
  smallestLeftNano(accountId: string, keyId: string, periods: RunningPeriods): Promise<bigint | null>;
}

export function createKeyBudgetStore(database: PartitionLane): KeyBudgetStore {
  return {
    async smallestLeftNano(accountId, keyId, periods) {
      const [row] = await database.query<StoredRow>(readKeys, [toArray([accountId]), toArray([keyId])]);
      return row === undefined ? null : smallestBudgetLeft(KEY_LIMITS.columns.read(row), periods);
    },
  };
}

/** Of all partitions. */
export const routedKeyBudgets = (routes: Routes<KeyBudgetStore>): KeyBudgetStore =>
  routedByAccount(routes, { smallestLeftNano: (accountId) => accountId });
