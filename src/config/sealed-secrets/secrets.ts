import { randomBytes } from 'node:crypto';
import type { OpenedSecrets } from '../provider-credentials.ts';
import type { SealedSecret, SealedSecretsStore } from './sealed-secrets-store.ts';
import { NONCE_BYTES, type SealingKey, seal, unseal } from './sealing.ts';
import { NO_SEALING_KEY, SealingKeyError } from './sealing-keys.ts';

export interface SecretsOptions {
  readonly store: SealedSecretsStore;
  /** Returns the keys of this process. @throws SealingKeyError */
  readonly keys: () => readonly SealingKey[];
}

/** What this process knows of a secret, without its value. */
export interface SecretSummary extends Pick<SealedSecret, 'name' | 'createdAt' | 'changedAt' | 'changedBy'> {
  /** Which key opens the secret: the first one, another one, or none. */
  readonly status: 'current_key' | 'earlier_key' | 'unreadable';
}

export interface Rotation {
  /** Number of secrets that were sealed again with the first key. */
  readonly resealed: number;
  /** Names of secrets that no key of this process opens. */
  readonly unreadable: readonly string[];
}

export type Secrets = ReturnType<typeof createSecrets>;

/** Manages the sealed secrets of the database. */
export function createSecrets({ store, keys }: SecretsOptions) {
  function sealed(key: SealingKey, name: string, value: Uint8Array) {
    return { sealed: seal(key, name, value, randomBytes(NONCE_BYTES)), keyId: key.id };
  }

  /** Returns the keys. @throws SealingKeyError if this process has none */
  function requireKeys(): readonly [SealingKey, ...SealingKey[]] {
    const [current, ...others] = keys();
    if (current === undefined) throw new SealingKeyError(NO_SEALING_KEY);
    return [current, ...others];
  }

  function summaryOf(secret: SealedSecret): SecretSummary {
    const own = keysOrNone(keys);
    const isOpen = 'value' in open(secret, own);
    const isCurrent = own[0]?.id === secret.keyId;
    const { name, createdAt, changedAt, changedBy } = secret;
    const status = isOpen ? (isCurrent ? 'current_key' : 'earlier_key') : 'unreadable';
    return { name, createdAt, changedAt, changedBy, status };
  }

  return {
    list: async (): Promise<SecretSummary[]> => (await store.list()).map(summaryOf),
    async find(name: string): Promise<SecretSummary | null> {
      const secret = await store.find(name);
      return secret && summaryOf(secret);
    },
    /** Sets the value of a secret. @throws SealingKeyError */
    async set(name: string, value: string, changedBy: string): Promise<SecretSummary | 'too_many'> {
      const secret = await store.set(name, sealed(requireKeys()[0], name, Buffer.from(value)), changedBy);
      return secret === null ? 'too_many' : summaryOf(secret);
    },
    delete: async (name: string): Promise<boolean> => (await store.delete(name)) !== null,
    /** Seals all secrets with the first key, one after another. Nodes can read them all the time. @throws SealingKeyError */
    async rotate(): Promise<Rotation> {
      const own = requireKeys();
      const [current] = own;
      const unreadable: string[] = [];
      let resealed = 0;
      for (const { name, keyId } of await store.list()) {
        if (keyId === current.id) continue;
        const isResealed = await store.reseal(name, (secret) => {
          // Since the list was read, the secret was set, or sealed with the first key.
          if (secret.keyId === current.id) return null;
          const bytes = unsealed(secret, own);
          if (bytes === null) unreadable.push(name);
          return bytes && sealed(current, name, bytes);
        });
        if (isResealed) resealed++;
      }
      return { resealed, unreadable };
    },
  };
}

/** Opens secrets with the keys of this process. If one cannot be opened, it has a problem instead of a value. */
export function openSecrets(secrets: readonly SealedSecret[], keys: SecretsOptions['keys']): OpenedSecrets {
  if (secrets.length === 0) return new Map();
  try {
    const own = keys();
    return new Map(secrets.map((secret) => [secret.name, open(secret, own)]));
  } catch (error) {
    if (!(error instanceof SealingKeyError)) throw error;
    return new Map(secrets.map(({ name }) => [name, { problem: error.message }]));
  }
}

function open(
  secret: SealedSecret,
  keys: readonly SealingKey[],
): { readonly value: string } | { readonly problem: string } {
  const bytes = unsealed(secret, keys);
  if (bytes !== null) return { value: bytes.toString() };
  if (keys.length === 0) return { problem: NO_SEALING_KEY };
  const isDamaged = keys.some(({ id }) => id === secret.keyId);
  return {
    problem: isDamaged
      ? 'The sealed secret was changed in the database. Set it again: faregate secret set NAME'
      : `The secret is sealed with the key ${secret.keyId}, which this node does not have.`,
  };
}

function unsealed({ name, keyId, sealed }: SealedSecret, keys: readonly SealingKey[]): Buffer | null {
  const key = keys.find(({ id }) => id === keyId);
  return key === undefined ? null : unseal(key, name, sealed);
}

function keysOrNone(keys: SecretsOptions['keys']): readonly SealingKey[] {
  try {
    return keys();
  } catch (error) {
    if (error instanceof SealingKeyError) return [];
    throw error;
  }
}
