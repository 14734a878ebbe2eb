import type { Statement } from '../../db/database.ts';
import type { DirectoryQueryable } from '../../db/home-pools.ts';

/** The lock does not block inserts of rows that refer to the account. */
const lockRow: Statement = {
  name: 'accounts.lock-row',
  text: 'select from accounts where id = $1 for no key update',
};

/**
 * Serializes transactions that create keys of an account, so that each of them counts the keys created before it. It does not block calls,
 * which lock another row (`ledger/account-lock-store.ts`).
 */
export async function lockAccountRow(transaction: DirectoryQueryable, accountId: string): Promise<void> {
  await transaction.query(lockRow, [accountId]);
}
