import type { Clock } from '../../lib/clock.ts';
import type { AccountPartitionStore } from './account-partition-store.ts';

/** Chooses the partition of a new account. @throws if the directory does not respond. */
export type Place = () => Promise<number>;

/** How long counts are cached. In this time, every node distributes its own new accounts evenly. */
const COUNTED_FOR_MS = 600_000;

/** Places each account in the partition with the fewest accounts. */
export function createPlacement(
  partitions: number,
  store: Pick<AccountPartitionStore, 'count' | 'listTaking'>,
  clock: Pick<Clock, 'nowMs'>,
): Place {
  /** Accounts by partition number; infinite for partitions that take no new accounts. */
  let counts: number[] = [];
  let countedAtMs = Number.NEGATIVE_INFINITY;

  async function recount(): Promise<void> {
    const nowMs = clock.nowMs();
    if (Math.abs(nowMs - countedAtMs) < COUNTED_FOR_MS) return;
    const [found, taking] = await Promise.all([store.count(), store.listTaking()]);
    counts = Array.from({ length: partitions }, (_, number) =>
      taking.includes(number) ? 0 : Number.POSITIVE_INFINITY,
    );
    // Ignores partitions that were added after this process started.
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
