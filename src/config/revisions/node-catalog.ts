import { catalogOf } from '../catalog-text.ts';
import type { NodeConfig } from '../node-config.ts';
import type { Config } from '../schema.ts';
import type { CatalogFollower } from './follower.ts';

/** The catalog of a node: where it comes from, and which one the node uses. */
export class NodeCatalog {
  /** Sources of the configuration; `null` in a process without a file, such as a test. */
  readonly node: NodeConfig | null;
  readonly mode: Config['catalog'];
  /** Follows revisions of the database; `null`: the catalog is in the file. */
  follower: CatalogFollower | null = null;
  /** Reads the configuration file now. Resolves when the result is known; `null`: nothing watches the file. */
  reload: (() => Promise<void>) | null = null;

  constructor(node: NodeConfig | null, mode: Config['catalog']) {
    this.node = node;
    this.mode = mode;
  }

  /** Why this node does not use the last revision; `null` if it does. */
  get warning(): string | null {
    const failed = this.follower?.status.failed ?? null;
    return failed === null ? null : `This node cannot use revision ${failed.number} of the catalog: ${failed.message}`;
  }

  /** Returns the catalog sections of the configuration file, without secrets. */
  textOfFile(): string {
    return this.node === null ? '' : catalogOf(this.node.text);
  }
}
