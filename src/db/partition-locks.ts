/** Distance between the lock keys of two partitions. Larger than the distance between any two keys of one partition. */
const APART = 1_000;

/**
 * Returns the key of a partition's advisory lock. Advisory locks span all schemas. The first partition has the same key as in earlier
 * versions.
 */
export const lockOfPartition = (key: number, partition: number): number => key + APART * partition;
