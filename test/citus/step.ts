import type { CitusCluster } from './cluster.ts';

/** A check on a cluster. */
export interface Step {
  readonly name: string;
  readonly tries: string;
  /**
   * Returns its findings, one per line.
   *
   * @throws if one is wrong
   */
  run(cluster: CitusCluster): Promise<readonly string[]>;
}
