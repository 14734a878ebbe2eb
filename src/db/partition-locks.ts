/** Greater than the difference between any two lock keys of one partition. */
const APART = 1_000;

/** The key of a partition's advisory lock. Advisory locks span all schemas. The first partition uses `key` itself. */
export const lockOfPartition = (key: number, partition: number): number => key + APART * partition;
