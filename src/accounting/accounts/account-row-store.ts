import type { Statement } from '../../db/database.ts';
import type { DirectoryQueryable } from '../../db/home-lanes.ts';

/** By primary key. What refers to the account may be inserted meanwhile. */
const lockRow: Statement = {
  name: 'accounts.lock-row',
  text: 'select from accounts where id = $1 for no key update',
};

/**
 * Waits for the lock of an account in the directory, which a transaction there holds until it ends. Whoever makes keys of the account has
 * it, so that they are counted one after the other. Calls never wait for it: theirs is another one, in the partition
 * (`ledger/account-lock-store.ts`).
 */
export async function lockAccountRow(transaction: DirectoryQueryable, accountId: string): Promise<void> {
  await transaction.query(lockRow, [accountId]);
}
