import type { Clock } from '../../lib/clock.ts';
import type { FillRandom, Ids } from '../../lib/ids.ts';
import type { AllowListChange } from './allow-lists.ts';
import type { ApiKey, ApiKeyStore, NewKey } from './api-key-store.ts';
import { createApiKey, displayPrefix, hashApiKey } from './key-format.ts';
import { type KeyLimitChange, type KeyLimitStore, NO_LIMITS } from './key-limit-store.ts';
import type { KeyLimits } from './key-limit-tables.ts';
import type { KeyReplacement, KeyReplacementStore } from './key-replacement-store.ts';
import type { LooseKeyStore } from './loose-key-store.ts';
import { makeLimited } from './loose-keys.ts';
import type { LooseLimitStore } from './loose-limit-store.ts';
import type { Principals } from './principals.ts';
import { NO_RATE_LIMITS, type RateLimitChange, type RateLimitStore, type RateLimits } from './rate-limit-store.ts';

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

/** What of a key is to be changed; what is absent stays. */
interface KeyChange {
  readonly limits?: KeyLimitChange | undefined;
  readonly rates?: RateLimitChange | undefined;
  readonly allowed?: AllowListChange | undefined;
  readonly name?: string | undefined;
}

type AskedReplacement = Pick<KeyReplacement, 'accountId' | 'keyId' | 'expiresAt' | 'keepOldMs' | 'ownKeys'>;

interface NewLimits {
  readonly limits: KeyLimits;
  readonly rates: RateLimits;
}

/** A new key with its text, which nobody can read again. */
interface MadeKey {
  readonly key: ApiKey;
  readonly text: string;
}

interface KeysParts {
  readonly accounts: Pick<ApiKeyStore, 'insertKey' | 'changeKey' | 'revokeKey' | 'findKey'>;
  readonly looseKeys: Pick<LooseKeyStore, 'begin' | 'giveUp' | 'giveUpReplacing' | 'add'>;
  readonly looseLimits: Pick<LooseLimitStore, 'set' | 'copy'>;
  readonly keyLimits: Pick<KeyLimitStore, 'change'>;
  readonly keyReplacements: KeyReplacementStore;
  readonly rateLimits: Pick<RateLimitStore, 'change'>;
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
  const { accounts, looseKeys, looseLimits, keyLimits, keyReplacements, rateLimits, principals } = parts;
  const { clock, ids, fillRandom } = parts;

  const now = (): Date => new Date(clock.nowMs());

  function makeText() {
    const text = createApiKey(fillRandom);
    return { text, stored: { id: ids.next('key'), keyHash: hashApiKey(text), prefix: displayPrefix(text) } };
  }

  async function changeLimits(
    { accountId, id: keyId }: ApiKey,
    { limits, rates }: KeyChange,
  ): Promise<'absent' | 'too_many_models' | null> {
    if (limits === undefined && rates === undefined) return null;
    if ((await accounts.findKey(keyId)) === null) return 'absent';
    if (rates !== undefined && (await rateLimits.change({ accountId, keyId }, rates)) === 'too_many') {
      return 'too_many_models';
    }
    if (limits !== undefined && (await keyLimits.change(accountId, keyId, limits)) === null) return 'absent';
    principals.forget(accountId);
    await looseKeys.giveUpReplacing({ accountId, keyId });
    if ((await accounts.findKey(keyId)) !== null) return null;
    // It was forgotten meanwhile, and its limits may have been removed before these were set.
    await looseKeys.add({ accountId, keyId });
    return 'absent';
  }

  async function insertLimited(
    { limits, rates, ...asked }: AskedKey,
    stored: Pick<NewKey, 'id' | 'keyHash' | 'prefix' | 'isImported' | 'isRevoked'>,
  ): Promise<{ readonly key: ApiKey } & NewLimits> {
    const at = now();
    const insert = (isBegun: boolean): Promise<ApiKey> => accounts.insertKey({ ...asked, ...stored, isBegun, at });
    if (limits === undefined && rates === undefined) {
      return { key: await insert(false), limits: NO_LIMITS, rates: NO_RATE_LIMITS };
    }
    const { accountId, ownKeys } = asked;
    const begun = { accountId, keyId: stored.id, replacedId: null, endsReplaced: false, ownKeys, at };
    const set = (): ReturnType<LooseLimitStore['set']> => looseLimits.set(begun, { limits, rates });
    const done = await makeLimited(looseKeys, begun, set, () => insert(true));
    return { key: done!.made, ...done!.limits };
  }

  return {
    /** @throws TooManyKeysError, NoMemberError */
    async make(asked: AskedKey): Promise<MadeKey & NewLimits> {
      const { text, stored } = makeText();
      return { ...(await insertLimited(asked, stored)), text };
    },
    /**
     * Makes a key of a text that clients have already, of which nothing but its hash is known here. No other key has this hash.
     *
     * @throws TooManyKeysError; StatementError if another key has the hash.
     */
    makeImported: (asked: AskedKey, text: ImportedKeyText): Promise<{ readonly key: ApiKey } & NewLimits> =>
      insertLimited(asked, { ...text, id: ids.next('key'), isImported: true }),
    /**
     * Returns the changed key. `too_many_models`: of more models than there may be, and nothing is changed.
     *
     * @param key as it was read before.
     */
    async change(key: ApiKey, change: KeyChange): Promise<ApiKey | 'absent' | 'too_many_models'> {
      const refusal = await changeLimits(key, change);
      if (refusal !== null) return refusal;
      const { allowed = {}, name } = change;
      if (allowed.models === undefined && allowed.networks === undefined && name === undefined) return key;
      const changed = await accounts.changeKey(key.id, allowed, name);
      if (changed === null) return 'absent';
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
      const { accountId, keyId: replacedId, ownKeys, keepOldMs } = asked;
      const at = now();
      const begun = { accountId, keyId: stored.id, replacedId, endsReplaced: keepOldMs === 0, ownKeys, at };
      const done = await makeLimited(
        looseKeys,
        begun,
        () => looseLimits.copy(begun, replacedId),
        () => keyReplacements.replace({ ...asked, ...stored, at }),
      );
      if (done === null) return null;
      principals.forget(accountId);
      return { ...done.made, text };
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
