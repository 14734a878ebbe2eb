import type { Logger } from '../../lib/logger.ts';

export type AddedPartitions = ReturnType<typeof createAddedPartitions>;

/**
 * Partitions that were added when this process had opened the others. It goes on with those; no account is placed in a new one before all
 * processes have been started again (`account-partition-store.ts`).
 *
 * @param opened how many this process has opened.
 */
export function createAddedPartitions(opened: number, logger: Pick<Logger, 'warn'>) {
  let count = 0;
  return {
    opened,
    /** Notes how many there are. */
    note(partitions: number): void {
      if (partitions <= opened + count) return;
      if (count === 0) {
        logger.warn(
          { opened, partitions },
          'partitions were added that this gateway has not opened; it serves the others. Restart it: before that no account is placed there',
        );
      }
      count = partitions - opened;
    },
    /** How many there are, as far as it is known. */
    get count(): number {
      return count;
    },
    /** What an operator has to do; `null`: nothing. */
    get warning(): string | null {
      if (count === 0) return null;
      return `This node has to be restarted: it has opened ${opened} of ${opened + count} partitions.`;
    },
  };
}
