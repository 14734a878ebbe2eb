/** Larger than the distance between any two lock keys. */
const APART = 1_000;

/**
 * The key of an advisory lock that exists once per partition. Advisory locks span the whole database, whatever the session's schema. The
 * key of the first partition is the one used by versions without further partitions.
 */
export const lockOfPartition = (key: number, partition: number): number => key + APART * partition;
