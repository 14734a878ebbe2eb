import { queueAccountChange } from '../accounting/ledger/changed-account-store.ts';
import type { PlacedPools } from '../accounting/partitions/placed-pools.ts';
import { type Statement, toArray } from '../db/database.ts';
import type { DirectoryQueryable } from '../db/home-pools.ts';
import { bigintColumn, orNull, type RowOf, selection, textColumn } from '../db/table.ts';

const THRESHOLDS = selection({
  id: textColumn('id'),
  lowBalanceNano: orNull(bigintColumn('low_balance_nano')),
  /** The account's group, which can have a daily spend cap. */
  groupId: orNull(textColumn('group_id')),
});

type Thresholds = RowOf<typeof THRESHOLDS>;

export type LowBalance = Pick<Thresholds, 'lowBalanceNano'>;

const selectThresholds: Statement = {
  name: 'thresholds.select',
  text: `select ${THRESHOLDS.list} from accounts where id = any ($1::text[])`,
};

const updateLowBalance: Statement = {
  name: 'thresholds.update',
  text: `update accounts set low_balance_nano = $2::bigint where id = $1 returning id`,
};

export type ThresholdStore = ReturnType<typeof createThresholdStore>;

export function createThresholdStore({ directory, partitions }: PlacedPools) {
  return {
    findLowBalance: async (accountId: string): Promise<LowBalance | null> =>
      THRESHOLDS.first(await directory.query(selectThresholds, [toArray([accountId])])),
    /** Sets the threshold and queues the account, because its balance may be below. Returns `false` if there is no such account. */
    async setLowBalance(accountId: string, lowBalanceNano: bigint | null): Promise<boolean> {
      const partition = await partitions.of(accountId);
      return partition.transactionWithDirectory(async (transaction) => {
        const updated = await transaction.query(updateLowBalance, [accountId, lowBalanceNano]);
        if (updated.length > 0) await queueAccountChange(transaction, accountId);
        return updated.length > 0;
      });
    },
  };
}

/** Returns thresholds and groups of accounts. Accounts that do not exist are absent. */
export async function readThresholds(
  directory: DirectoryQueryable,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, Thresholds>> {
  const accounts = THRESHOLDS.all(await directory.query(selectThresholds, [toArray(accountIds)]));
  return new Map(accounts.map((account) => [account.id, account]));
}
