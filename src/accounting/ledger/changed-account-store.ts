import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-pools.ts';

const queueAccount: Statement = {
  name: 'accounts.queue-change',
  text: 'insert into account_changes (account_ids) values (array[$1::text])',
};

/** Queues an account whose limits have changed, because a notice about their use may be due. Calls and ledger entries do so by themselves. */
export async function queueAccountChange(transaction: PartitionQueryable, accountId: string): Promise<void> {
  await transaction.query(queueAccount, [accountId]);
}
