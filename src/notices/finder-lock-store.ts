import type { Statement } from '../db/database.ts';
import type { QueryableOf } from '../db/home-lanes.ts';
import type { Home } from '../db/homes.ts';
import { lockOfPartition } from '../db/partition-locks.ts';

/** The SQL that lets one node at a time find notices, in the directory and in each partition. */

/** Arbitrary, but the same for every node. The node that has it works; the others do something else. */
const FINDER_LOCK = 7_212_202_640;

const tryLock: Statement = {
  name: 'notices.try-lock',
  text: 'select pg_try_advisory_xact_lock($1::bigint) as is_ours',
};
const waitForLock: Statement = { name: 'notices.lock', text: `select pg_advisory_xact_lock(${FINDER_LOCK})` };

/** What a slice did: `more` where there may be more to do, `idle` if there is nothing, `elsewhere` if another node works. */
export type SliceResult = 'more' | 'idle' | 'elsewhere';

/**
 * Excludes other finders until the end of the transaction. Returns `false` if another one has the lock.
 *
 * @param partition the number of a partition; the directory has the lock of the first one.
 */
export async function lockOutFinders(transaction: QueryableOf<Home>, partition = 0): Promise<boolean> {
  const [lock] = await transaction.query<{ is_ours: boolean }>(tryLock, [lockOfPartition(FINDER_LOCK, partition)]);
  return lock!.is_ours;
}

/** As `lockOutFinders` in the directory, but waits for the lock. */
export async function waitForFinders(transaction: QueryableOf<Home>): Promise<void> {
  await transaction.query(waitForLock);
}
