import type { Lane } from './database.ts';

/**
 * Where the statements of both homes run (docs/decisions/0060-homes-of-tables.md). While all accounts are in the first partition, in the
 * schema of the directory, both are the same lane; nothing may rely on that: a transaction of one sees and locks nothing of the other.
 */
export interface HomeLanes {
  readonly directory: Lane;
  readonly partition: Lane;
}

/** Both homes in one database. */
export const inOneDatabase = (lane: Lane): HomeLanes => ({ directory: lane, partition: lane });
