import type { Statement } from '../db/database.ts';
import type { QueryableOf } from '../db/home-pools.ts';
import type { Home } from '../db/homes.ts';
import { lockOfPartition } from '../db/partition-locks.ts';

/** This file makes only one node at a time find notices in the directory, and only one in each partition. */

/** Key of the lock, arbitrary but the same on all nodes. */
const FINDER_LOCK = 7_212_202_640;

const tryLock: Statement = {
  name: 'notices.try-lock',
  text: 'select pg_try_advisory_xact_lock($1::bigint) as is_ours',
};
const waitForLock: Statement = { name: 'notices.lock', text: `select pg_advisory_xact_lock(${FINDER_LOCK})` };

/** Result of a batch. `more`: work may be left. `elsewhere`: another node holds the lock. */
export type BatchResult = 'more' | 'idle' | 'elsewhere';

/** Takes the lock. Returns `false` if another node has it. The lock of partition 0 is also that of the directory. */
export async function tryFinderLock(transaction: QueryableOf<Home>, partition = 0): Promise<boolean> {
  const [lock] = await transaction.query<{ is_ours: boolean }>(tryLock, [lockOfPartition(FINDER_LOCK, partition)]);
  return lock!.is_ours;
}

export async function takeFinderLock(transaction: QueryableOf<Home>): Promise<void> {
  await transaction.query(waitForLock);
}
