import type { Statement } from '../../db/database.ts';
import type { DirectoryQueryable } from '../../db/home-pools.ts';

const lockRow: Statement = {
  name: 'accounts.lock-row',
  text: 'select from accounts where id = $1 for no key update',
};

/** Serializes the creation of keys in an account, so that each transaction counts earlier keys. Calls lock another row. */
export async function lockAccountRow(transaction: DirectoryQueryable, accountId: string): Promise<void> {
  await transaction.query(lockRow, [accountId]);
}
