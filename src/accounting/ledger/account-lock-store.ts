import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-lanes.ts';

/** By the primary key of `balances`. */
const lockRow: Statement = {
  name: 'accounts.lock',
  text: 'select from balances where account_id = $1 for update',
};

/**
 * Waits for the lock of an account, which a transaction holds before it changes anything of the account, until it ends. Returns
 * whether there is such an account.
 */
export async function lockAccount(transaction: PartitionQueryable, accountId: string): Promise<boolean> {
  const rows = await transaction.query(lockRow, [accountId]);
  return rows.length > 0;
}
