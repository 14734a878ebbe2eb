import { isDeepStrictEqual } from 'node:util';
import type { NodeConfig } from '../node-config.ts';
import type { SealedSecretsStore } from './sealed-secrets-store.ts';
import type { SealingKey } from './sealing.ts';
import { openSecrets } from './secrets.ts';

interface NodeSecretsOptions {
  readonly node: NodeConfig;
  readonly store: Pick<SealedSecretsStore, 'listIfMigrated'>;
  /** Returns the keys of this process. @throws SealingKeyError */
  readonly keys: () => readonly SealingKey[];
}

/** The sealed secrets that the configuration of a node can use. */
export class NodeSecrets {
  readonly #options: NodeSecretsOptions;

  constructor(options: NodeSecretsOptions) {
    this.#options = options;
  }

  /** Whether this node can open all secrets. */
  get areOpen(): boolean {
    return [...(this.#options.node.secrets?.values() ?? [])].every((secret) => 'value' in secret);
  }

  /** Reads the secrets for the configuration. Returns whether those that this node can open have changed. */
  async read(): Promise<boolean> {
    const { node, store, keys } = this.#options;
    const opened = openSecrets(await store.listIfMigrated(), keys);
    if (isDeepStrictEqual(opened, node.secrets)) return false;
    node.secrets = opened;
    return true;
  }
}
