import type { Logger } from '../../lib/logger.ts';

/** Tracks partitions that were added after this process started. They get accounts only after a restart of all processes. */
export function createAddedPartitions(opened: number, logger: Pick<Logger, 'warn'>) {
  let count = 0;
  return {
    opened,
    note(partitions: number): void {
      if (partitions <= opened + count) return;
      if (count === 0) {
        logger.warn(
          { opened, partitions },
          'partitions were added after this gateway started; new accounts are created in them only after it is restarted',
        );
      }
      count = partitions - opened;
    },
    get count(): number {
      return count;
    },
    get warning(): string | null {
      if (count === 0) return null;
      return `This node must be restarted: it has opened ${opened} of ${opened + count} partitions.`;
    },
  };
}
