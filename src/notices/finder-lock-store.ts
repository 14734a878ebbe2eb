import type { Statement } from '../db/database.ts';
import type { LaneOf, QueryableOf } from '../db/home-lanes.ts';
import type { Home } from '../db/homes.ts';
import { lockOfPartition } from '../db/partition-locks.ts';

/** The SQL by which one node at a time finds notices, in each home by itself. */

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
 * Runs work in a transaction of a home, if no other node does the like there.
 *
 * @param partition the number of a partition; the directory has the lock of the first one.
 */
export function alone<Which extends Home>(
  home: LaneOf<Which>,
  work: (transaction: QueryableOf<Which>) => Promise<SliceResult>,
  partition = 0,
): Promise<SliceResult> {
  return home.transaction(async (transaction) => {
    const [lock] = await transaction.query<{ is_ours: boolean }>(tryLock, [lockOfPartition(FINDER_LOCK, partition)]);
    return lock?.is_ours === true ? work(transaction) : 'elsewhere';
  });
}

/** Waits until no other node does the like in this home. */
export async function waitForFinders(transaction: QueryableOf<Home>): Promise<void> {
  await transaction.query(waitForLock);
}
