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
  store: Pick<AccountPartitionStore, 'count'>,
  clock: Pick<Clock, 'nowMs'>,
): Place {
  let counts: number[] = [];
  let countedAtMs = Number.NEGATIVE_INFINITY;

  async function recount(): Promise<void> {
    const nowMs = clock.nowMs();
    if (Math.abs(nowMs - countedAtMs) < COUNTED_FOR_MS) return;
    const found = await store.count();
    counts = Array.from({ length: partitions }, () => 0);
    // This process may know fewer partitions than there are.
    for (const { partition, accounts } of found) if (partition < partitions) counts[partition] = accounts;
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
