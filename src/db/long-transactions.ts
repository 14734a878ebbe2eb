import type { Database } from './database.ts';
import type { PartitionedTransactions } from './home-lanes.ts';

/** Runs work in transactions of the directory and all partitions, without limits of time. All of them are rolled back where it throws. */
export type InLongTransactions = <Result>(
  work: (transactions: PartitionedTransactions) => Promise<Result>,
) => Promise<Result>;

/**
 * On a server each partition has a transaction of its own. They are committed one after the other, and that of the directory, which the first
 * partition shares, is the last one: what others have is of no account until then. If one fails to commit, those behind it have done so.
 */
export const nestedTransactions =
  (partitions: readonly Pick<Database, 'longTransaction'>[]): InLongTransactions =>
  <Result>(work: (transactions: PartitionedTransactions) => Promise<Result>) => {
    const [first, ...others] = partitions;
    return first!.longTransaction((directory) => {
      const beginNext = (begun: PartitionedTransactions['partitions']): Promise<Result> => {
        const next = others[begun.length - 1];
        if (next === undefined) return work({ directory, partitions: begun });
        return next.longTransaction((transaction) => beginNext([...begun, transaction]));
      };
      return beginNext([directory]);
    });
  };
