import type { Statement } from '../../db/database.ts';
import type { DirectoryQueryable } from '../../db/home-pools.ts';

/** Rows that refer to the account can still be inserted. */
const lockRow: Statement = {
  name: 'accounts.lock-row',
  text: 'select from accounts where id = $1 for no key update',
};

/**
 * Serializes transactions that create keys of an account, so that each counts the keys before it. Calls lock another row
 * (`ledger/account-lock-store.ts`).
 */
export async function lockAccountRow(transaction: DirectoryQueryable, accountId: string): Promise<void> {
  await transaction.query(lockRow, [accountId]);
}
