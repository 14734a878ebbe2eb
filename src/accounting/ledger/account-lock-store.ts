import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-pools.ts';

const lockRow: Statement = {
  name: 'accounts.lock',
  text: 'select from balances where account_id = $1 for update',
};

/** Locks an account. Every transaction that changes its data does so first. Returns false if the account does not exist. */
export async function lockAccount(transaction: PartitionQueryable, accountId: string): Promise<boolean> {
  const rows = await transaction.query(lockRow, [accountId]);
  return rows.length > 0;
}
