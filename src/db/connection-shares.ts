import type { LaneName } from './database.ts';
import { LANES } from './lanes.ts';

/** Batches of calls follow one another, so there are a few at a time: an admission, an end, a release. */
const BATCHES_MAX = 4;
/** One that waits for a lock, for a tenth of a second at most, must not stop all others of its partition. */
const BATCHES_MIN = 2;
/** Transactions that may wait for a lock, each of the calls of one account, for as long as these may wait. */
const LOCKS_MAX = 2;
/** Single statements that calls wait for. */
const STATEMENTS_MIN = 2;

/** How many connections a process has at most to one schema of a server, by what they are for. */
export interface ConnectionShare {
  readonly statements: number;
  readonly batches: number;
  readonly locks: number;
  lane(name: LaneName): number;
}

/**
 * The connections to one of several schemas. Calls are spread over partitions, so each gets a part of what one process has for the calls
 * of all. The directory has the statements and lanes of a process that has one partition: keys and people are looked for
 * there, however many partitions there are. It has the first partition, too.
 *
 * @param statementsMax those of a process with one partition.
 */
export function shareOfDirectory(partitions: number, statementsMax: number): ConnectionShare {
  return {
    statements: statementsMax,
    batches: Math.min(part(BATCHES_MAX, partitions, BATCHES_MIN), statementsMax),
    locks: part(LOCKS_MAX, partitions, 1),
    lane: (name) => LANES[name].connectionsMax,
  };
}

/** Those to a partition that is not the first one. */
export function shareOfPartition(partitions: number, statementsMax: number): ConnectionShare {
  return {
    ...shareOfDirectory(partitions, statementsMax),
    statements: Math.min(part(statementsMax, partitions, STATEMENTS_MIN), statementsMax),
    lane: (name) => part(LANES[name].connectionsMax, partitions, 1),
  };
}

const part = (max: number, partitions: number, min: number): number => Math.max(Math.ceil(max / partitions), min);
