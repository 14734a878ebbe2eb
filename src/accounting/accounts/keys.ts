import type { Clock } from '../../lib/clock.ts';
import type { FillRandom, Ids } from '../../lib/ids.ts';
import type { AllowListChange } from './allow-lists.ts';
import type { ApiKey, ApiKeyStore, NewKey } from './api-key-store.ts';
import { createApiKey, displayPrefix, hashApiKey } from './key-format.ts';
import { type KeyLimitChange, NO_LIMITS } from './key-limit-store.ts';
import type { KeyReplacement, KeyReplacementStore } from './key-replacement-store.ts';
import type { KeyChange, KeyWithLimits, KeyWithLimitsStore } from './key-with-limits-store.ts';
import type { Principals } from './principals.ts';
import { NO_RATE_LIMITS, type RateLimitChange } from './rate-limit-store.ts';

/** What a key is to be. */
interface AskedKey extends Pick<NewKey, 'accountId' | 'name' | 'expiresAt' | 'scopes' | 'ownKeys'> {
  /** Absent: none. */
  readonly limits?: KeyLimitChange | undefined;
  /** Absent: none. */
  readonly rates?: RateLimitChange | undefined;
  readonly allowed: AllowListChange;
  /** The person whose key it is; `null`: the account's. */
  readonly userId: string | null;
}

/** A key that another program made and that clients have already: the hash of what clients send, and what lists show of it. */
export type ImportedKeyText = Required<Pick<NewKey, 'keyHash' | 'prefix' | 'isRevoked'>>;

type AskedReplacement = Pick<KeyReplacement, 'accountId' | 'keyId' | 'expiresAt' | 'keepOldMs' | 'ownKeys'>;

/** A new key with its text, which nobody can read again. */
interface MadeKey {
  readonly key: ApiKey;
  readonly text: string;
}

interface KeysParts {
  readonly accounts: Pick<ApiKeyStore, 'insertKey' | 'revokeKey'>;
  readonly keysWithLimits: KeyWithLimitsStore;
  readonly keyReplacements: KeyReplacementStore;
  readonly principals: Pick<Principals, 'forget'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly fillRandom: FillRandom;
}

export type Keys = ReturnType<typeof createKeys>;

/**
 * Makes, changes and ends keys. Every node is told of a change, and drops what it has cached of the account; this one does so before
 * a change is done.
 */
export function createKeys(parts: KeysParts) {
  const { accounts, keysWithLimits, keyReplacements, principals, clock, ids, fillRandom } = parts;

  const now = (): Date => new Date(clock.nowMs());

  function makeText() {
    const text = createApiKey(fillRandom);
    return { text, stored: { id: ids.next('key'), keyHash: hashApiKey(text), prefix: displayPrefix(text) } };
  }

  async function insert(
    { limits, rates, ...asked }: AskedKey,
    stored: Pick<NewKey, 'id' | 'keyHash' | 'prefix' | 'isImported' | 'isRevoked'>,
  ): Promise<KeyWithLimits> {
    const key = { ...asked, ...stored, at: now() };
    if (limits !== undefined || rates !== undefined) return keysWithLimits.insert(key, { limits, rates });
    return { key: await accounts.insertKey(key), limits: NO_LIMITS, rates: NO_RATE_LIMITS };
  }

  return {
    /** @throws TooManyKeysError, NoMemberError */
    async make(asked: AskedKey): Promise<MadeKey & KeyWithLimits> {
      const { text, stored } = makeText();
      return { ...(await insert(asked, stored)), text };
    },
    /**
     * Makes a key of a text that clients have already, of which nothing but its hash is known here. No other key has this hash.
     *
     * @throws TooManyKeysError; StatementError if another key has the hash.
     */
    makeImported: (asked: AskedKey, text: ImportedKeyText): Promise<KeyWithLimits> =>
      insert(asked, { ...text, id: ids.next('key'), isImported: true }),
    /**
     * Returns the changed key; `null` if it is not there any more. `too_many`: limits of more models than there may be, and nothing is changed.
     *
     * @param key as it was read before.
     */
    async change(key: ApiKey, change: KeyChange): Promise<ApiKey | 'too_many' | null> {
      const changed = await keysWithLimits.change(key, change);
      principals.forget(key.accountId);
      return changed;
    },
    /**
     * Makes a key that may do the same as another one, and ends that one. `null`: that one is revoked or has expired.
     *
     * @throws TooManyKeysError, NoMemberError
     */
    async replace(asked: AskedReplacement): Promise<(MadeKey & { readonly replaced: ApiKey }) | null> {
      const { text, stored } = makeText();
      const done = await keyReplacements.replace({ ...asked, ...stored, at: now() });
      if (done === null) return null;
      principals.forget(asked.accountId);
      return { ...done, text };
    },
    /** Returns whether there is such a key. */
    async revoke(keyId: string): Promise<boolean> {
      const accountId = await accounts.revokeKey(keyId, now());
      if (accountId === null) return false;
      principals.forget(accountId);
      return true;
    },
  };
}
