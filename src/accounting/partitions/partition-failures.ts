import { ForeseenError } from '../../lib/foreseen-error.ts';
import { PartitionError } from './routes.ts';

/** Adds the partition number to errors. @throws PartitionError if there are several partitions and the error is not a `ForeseenError` */
export async function inPartition<Result>(number: number, count: number, work: () => Promise<Result>): Promise<Result> {
  if (count === 1) return work();
  try {
    return await work();
  } catch (error) {
    throw error instanceof PartitionError || error instanceof ForeseenError ? error : new PartitionError(number, error);
  }
}
