import type { Statement } from '../../db/database.ts';
import type { DirectoryQueryable } from '../../db/home-pools.ts';

const lockRow: Statement = {
  name: 'accounts.lock-row',
  text: 'select from accounts where id = $1 for no key update',
};

/** Locks the account's row, so that concurrent creations of keys run one after another and count each other's keys. */
export async function lockAccountRow(transaction: DirectoryQueryable, accountId: string): Promise<void> {
  await transaction.query(lockRow, [accountId]);
}
