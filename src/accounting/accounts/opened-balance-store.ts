import type { Statement } from '../../db/database.ts';
import type { PartitionLane } from '../../db/home-lanes.ts';
import { postEntry } from '../ledger/ledger-store.ts';
import type { Opening } from './new-account-store.ts';

/** The SQL of the balance of a new account, in its partition. */

/** Waits for whoever makes the same one. Plan: primary key. */
const insertBalance: Statement = {
  name: 'accounts.insert-balance',
  text: `insert into balances (account_id, daily_cap_nano) values ($1, $2::bigint)
on conflict (account_id) do nothing returning account_id`,
};

export type OpenedBalanceStore = ReturnType<typeof createOpenedBalanceStore>;

export const createOpenedBalanceStore = (partition: PartitionLane) => ({
  /** Makes the balance of an account, with its first ledger entry if there is one. Nothing happens if the balance is there. */
  open: ({ id, dailyCapNano, openingNano, at }: Opening): Promise<void> =>
    partition.transaction(async (transaction) => {
      const made = await transaction.query(insertBalance, [id, dailyCapNano]);
      if (made.length === 0 || openingNano === 0n) return;
      const topUp = { kind: 'top_up', amountNano: openingNano, memo: null, idempotencyKey: null } as const;
      await postEntry(transaction, { accountId: id, ...topUp, at });
    }),
});
