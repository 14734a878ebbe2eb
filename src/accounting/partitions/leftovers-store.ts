import type { Statement } from '../../db/database.ts';
import type { DirectoryLane, PartitionedDatabases } from '../../db/home-lanes.ts';
import { ForeseenError } from '../../lib/foreseen-error.ts';
import { inPartition } from './partition-failures.ts';

/** The SQL that finds what an interrupted import has left: money in partitions whose directory has no account. */

const findAccounts: Statement = {
  name: 'leftovers.find-accounts',
  text: 'select exists (select from accounts) as is_there',
};

const findBalances: Statement = {
  name: 'leftovers.find-balances',
  text: 'select exists (select from balances) as is_there',
};

/** Whether there are accounts. */
export async function hasAccounts(directory: DirectoryLane): Promise<boolean> {
  const [accounts] = await directory.query<{ is_there: boolean }>(findAccounts);
  return accounts!.is_there;
}

/**
 * An import fills the directory last. Until then lists of all accounts' calls, and sums over them, would have those of nobody.
 *
 * @throws LeftoversError if a partition has balances, and the directory no account.
 */
export async function requireNoLeftovers({ directory, partitions }: PartitionedDatabases): Promise<void> {
  if (partitions.length === 1) return;
  if (await hasAccounts(directory)) return;
  for (const [number, partition] of partitions.entries()) {
    const find = () => partition.query<{ is_there: boolean }>(findBalances);
    const [balances] = await inPartition(number, partitions.length, find);
    if (balances!.is_there) throw new LeftoversError(number);
  }
}

export class LeftoversError extends ForeseenError {
  constructor(partition: number) {
    super(
      `Partition ${partition} has balances, but the database has no account. If an import was interrupted, or is under way: import again, ` +
        'which removes what it has left ("faregate db import"). Otherwise restore what the directory had.',
    );
    this.name = 'LeftoversError';
  }
}
