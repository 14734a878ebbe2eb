import { type StoredRow, toArray } from '../../db/database.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { KEY_LIMITS } from '../accounts/key-limit-tables.ts';
import { itself, type Routes, routedByAccount } from '../partitions/routes.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import { readKeys } from './account-store.ts';
import { leastOf, smallestBudgetLeft } from './limits/key-budgets.ts';
import { type OwnerUse, usedNow } from './limits/key-day.ts';

export type KeyBudgetStore = ReturnType<typeof createKeyBudgetStore>;

export function createKeyBudgetStore(database: PartitionPool) {
  async function read(accountId: string, ownerIds: readonly string[]) {
    const names = [toArray(ownerIds.map(() => accountId)), toArray(ownerIds)];
    return KEY_LIMITS.columns.all(await database.query<StoredRow>(readKeys, names));
  }

  return {
    /** Returns what remains of the key's tightest budget; `null` if it has none. For callers who may not see the balance. */
    async smallestLeftNano(
      accountId: string,
      ownerIds: readonly string[],
      periods: RunningPeriods,
    ): Promise<bigint | null> {
      return leastOf((await read(accountId, ownerIds)).map((owner) => smallestBudgetLeft(owner, periods)));
    },
    /** Returns the use of budgets by owner id. Owners without limits are absent. */
    async uses(
      accountId: string,
      ownerIds: readonly string[],
      periods: RunningPeriods,
    ): Promise<ReadonlyMap<string, OwnerUse>> {
      if (ownerIds.length === 0) return new Map();
      return new Map((await read(accountId, ownerIds)).map((owner) => [owner.keyId, usedNow(owner, periods)]));
    },
  };
}

export const routedKeyBudgets = (routes: Routes<KeyBudgetStore>): KeyBudgetStore =>
  routedByAccount(routes, { smallestLeftNano: itself, uses: itself });
