import type { Clock } from '../../lib/clock.ts';
import type { AccountPartitionStore } from './account-partition-store.ts';

/** In which partition a new account is made, where it stays. @throws if the directory does not respond. */
export type Place = () => Promise<number>;

/** So long the counts are good for: what other nodes make meanwhile is spread as evenly. */
const COUNTED_FOR_MS = 600_000;

/**
 * Places an account where the fewest are; of several such partitions, in the first one.
 *
 * @param partitions how many there are.
 */
export function createPlacement(
  partitions: number,
  store: Pick<AccountPartitionStore, 'count' | 'listTaking'>,
  clock: Pick<Clock, 'nowMs'>,
): Place {
  /** Of each partition that takes accounts; the others have infinitely many. */
  let counts: number[] = [];
  let countedAtMs = Number.NEGATIVE_INFINITY;

  async function recount(): Promise<void> {
    const nowMs = clock.nowMs();
    if (Math.abs(nowMs - countedAtMs) < COUNTED_FOR_MS) return;
    const [found, taking] = await Promise.all([store.count(), store.listTaking()]);
    counts = Array.from({ length: partitions }, (_, number) =>
      taking.includes(number) ? 0 : Number.POSITIVE_INFINITY,
    );
    // This process may know fewer partitions than there are.
    for (const { partition, accounts } of found) if (partition < partitions) counts[partition]! += accounts;
    countedAtMs = nowMs;
  }

  return async () => {
    if (partitions === 1) return 0;
    await recount();
    const place = counts.indexOf(Math.min(...counts));
    counts[place]!++;
    return place;
  };
}
