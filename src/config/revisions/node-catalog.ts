import { catalogOf } from '../catalog-text.ts';
import type { NodeConfig } from '../node-config.ts';
import type { Config } from '../schema.ts';
import type { CatalogFollower } from './follower.ts';

/** The catalog of a node: where it comes from, and what the node applies of it. */
export class NodeCatalog {
  /** The sources of the configuration; `null` in a process that has no file, such as a test. */
  readonly node: NodeConfig | null;
  readonly mode: Config['catalog'];
  /** Set while the node follows the revisions of the database. */
  follower: CatalogFollower | null = null;
  /** Reads the configuration file now, and resolves when the result is known; `null`: nothing watches it. */
  reload: (() => Promise<void>) | null = null;

  constructor(node: NodeConfig | null, mode: Config['catalog']) {
    this.node = node;
    this.mode = mode;
  }

  /** Why the node does not apply the last revision; `null` if it does. */
  get warning(): string | null {
    const failed = this.follower?.status.failed ?? null;
    return failed === null ? null : `This node cannot use revision ${failed.number} of the catalog: ${failed.message}`;
  }

  /** The sections of the catalog in the configuration file, without secrets. */
  textOfFile(): string {
    return this.node === null ? '' : catalogOf(this.node.text);
  }
}
