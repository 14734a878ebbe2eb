/** Distance between the lock keys of two partitions: greater than the difference between any two keys of one partition. */
const APART = 1_000;

/** Returns the key of a partition's advisory lock; such locks apply to all schemas. The first partition uses `key` itself. */
export const lockOfPartition = (key: number, partition: number): number => key + APART * partition;
