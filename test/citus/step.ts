import type { CitusCluster } from './cluster.ts';

/** Something that is tried on a cluster. */
export interface Step {
  readonly name: string;
  readonly tries: string;
  /**
   * Returns what it has found, a line each.
   *
   * @throws if something is not as it must be
   */
  run(cluster: CitusCluster): Promise<readonly string[]>;
}
