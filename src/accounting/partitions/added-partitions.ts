import type { Logger } from '../../lib/logger.ts';

/**
 * Partitions that were added when this process had opened the others. It goes on with those; no account is placed in a new one before all
 * processes have been started again (`account-partition-store.ts`).
 *
 * @param opened how many this process has opened.
 * @param countAll how many the directory knows.
 */
export function createAddedPartitions(opened: number, countAll: () => Promise<number>, logger: Pick<Logger, 'warn'>) {
  let count = 0;

  function note(added: number): void {
    if (added <= count) return;
    if (count === 0) {
      logger.warn(
        { opened, partitions: opened + added },
        'partitions were added that this gateway has not opened; it serves the others. Restart it: before that no account is placed there',
      );
    }
    count = added;
  }

  return {
    /** How many there are, as far as it is known. */
    get count(): number {
      return count;
    },
    /** What an operator has to do; `null`: nothing. */
    get warning(): string | null {
      if (count === 0) return null;
      return `This node has to be restarted: it has opened ${opened} of ${opened + count} partitions.`;
    },
    /** Looks, and returns whether there are any. @throws if the directory does not respond. */
    async look(): Promise<boolean> {
      note((await countAll()) - opened);
      return count > 0;
    },
    /** Somebody has met one. */
    found: (partition: number): void => note(partition + 1 - opened),
  };
}
