import type { PlacedPools } from '../accounting/partitions/placed-pools.ts';
import type { RunningPeriods } from '../accounting/pricing/running-periods.ts';
import { readUsedBudgets } from '../accounting/reservations/used-budget-store.ts';
import type { OwnedBudget } from './account-facts.ts';
import { readBudgetOwners } from './budget-owner-store.ts';

export type UsedBudgets = ReturnType<typeof createUsedBudgets>;

const SHOWN_MAX = 50;

/** Finds the budgets of keys and members that are nearly used, for pages. */
export function createUsedBudgets({ directory, partitions }: PlacedPools) {
  return {
    /**
     * Lists the budgets of which at least a share is used, the most used ones first.
     *
     * @param userId only the budgets of this member, and of the member's keys; `null`: all of the account
     */
    async list(
      accountId: string,
      userId: string | null,
      periods: RunningPeriods,
      percentMin: number,
    ): Promise<OwnedBudget[]> {
      const partition = await partitions.of(accountId);
      const used = await readUsedBudgets(partition, [accountId], periods, percentMin);
      const ownerOf = await readBudgetOwners(directory, used, periods.nowMs);
      const owned = used.flatMap((budget) => {
        const owner = ownerOf(budget);
        return owner === null || (userId !== null && owner.userId !== userId) ? [] : [{ ...budget, owner }];
      });
      return owned.toSorted((one, other) => other.percent - one.percent).slice(0, SHOWN_MAX);
    },
  };
}
