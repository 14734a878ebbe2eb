/** Further from each other than the keys of all locks. */
const APART = 1_000;

/**
 * The key of an advisory lock that each partition has one of: such locks are of a whole database, whichever schema their session is in.
 * That of the first partition is the one of versions that had no others.
 */
export const lockOfPartition = (key: number, partition: number): number => key + APART * partition;
