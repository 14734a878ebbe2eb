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
    /** The smallest remainder of any budget; `null` if the key has no budget. For callers who can spend but not see the balance. */
    async smallestLeftNano(
      accountId: string,
      ownerIds: readonly string[],
      periods: RunningPeriods,
    ): Promise<bigint | null> {
      return leastOf((await read(accountId, ownerIds)).map((owner) => smallestBudgetLeft(owner, periods)));
    },
    /** By owner id. Owners without limits are absent. */
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
