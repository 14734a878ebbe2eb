import { ForeseenError } from '../../lib/foreseen-error.ts';
import { PartitionError } from './routes.ts';

/**
 * Runs what is of one partition.
 *
 * @param count how many there are
 * @throws PartitionError with the number of the partition if there are several, unless whoever works there has said why it ends.
 */
export async function inPartition<Result>(number: number, count: number, work: () => Promise<Result>): Promise<Result> {
  if (count === 1) return work();
  try {
    return await work();
  } catch (error) {
    throw error instanceof PartitionError || error instanceof ForeseenError ? error : new PartitionError(number, error);
  }
}
