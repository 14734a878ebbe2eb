/** Larger than the distance between any two lock keys. */
const APART = 1_000;

/** The key of an advisory lock per partition; advisory locks span all schemas. The first partition has the key of earlier versions. */
export const lockOfPartition = (key: number, partition: number): number => key + APART * partition;
