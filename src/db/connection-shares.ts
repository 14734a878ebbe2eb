import type { PoolName } from './database.ts';
import { POOLS } from './pools.ts';

/** Maximum number of batches that run at the same time. Of admissions, ends and releases of calls, each kind runs one batch at a time. */
const BATCHES_MAX = 4;
/** At least two batches per partition: one that waits for a lock (at most 100 ms) must not stop the others. */
const BATCHES_MIN = 2;
/** Maximum number of concurrent transactions that can wait for a lock. Each one is for a single account. */
const LOCKS_MAX = 2;
const STATEMENTS_MIN = 2;

/** Maximum numbers of connections from one process to one schema, by purpose. */
export interface ConnectionShare {
  readonly statements: number;
  readonly batches: number;
  readonly locks: number;
  pool(name: PoolName): number;
}

/**
 * Divides connections. The directory contains the first partition. Connections for calls are divided between all partitions; the directory
 * keeps all others, because keys and users are looked up there.
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
