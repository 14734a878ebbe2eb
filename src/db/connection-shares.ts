import type { PoolName } from './database.ts';
import { POOLS } from './pools.ts';

/** Maximum number of concurrent batches. Admissions, ends and releases of calls run one batch at a time each. */
const BATCHES_MAX = 4;
/** More than one: a batch that waits for a lock (at most 100 ms) must not stop the other batches of its partition. */
const BATCHES_MIN = 2;
/** Maximum number of concurrent transactions that can wait for a lock. Each is for calls of one account. */
const LOCKS_MAX = 2;
const STATEMENTS_MIN = 2;

/** Maximum numbers of connections from a process to one schema, by purpose. */
export interface ConnectionShare {
  readonly statements: number;
  readonly batches: number;
  readonly locks: number;
  pool(name: PoolName): number;
}

/**
 * The connections to the directory, which contains the first partition. The connections for calls are divided between partitions. The
 * directory keeps all others, because keys and users are looked up there.
 *
 * @param statementsMax number of connections for single statements in a process with one partition
 */
export function shareOfDirectory(partitions: number, statementsMax: number): ConnectionShare {
  return {
    statements: statementsMax,
    batches: Math.min(part(BATCHES_MAX, partitions, BATCHES_MIN), statementsMax),
    locks: part(LOCKS_MAX, partitions, 1),
    pool: (name) => POOLS[name].connectionsMax,
  };
}

export function shareOfPartition(partitions: number, statementsMax: number): ConnectionShare {
  return {
    ...shareOfDirectory(partitions, statementsMax),
    statements: Math.min(part(statementsMax, partitions, STATEMENTS_MIN), statementsMax),
    pool: (name) => part(POOLS[name].connectionsMax, partitions, 1),
  };
}

const part = (max: number, partitions: number, min: number): number => Math.max(Math.ceil(max / partitions), min);
