import type { Clock } from '../../lib/clock.ts';
import type { FillRandom, Ids } from '../../lib/ids.ts';
import type { AllowListChange } from './allow-lists.ts';
import type { ApiKey, ApiKeyStore, NewKey } from './api-key-store.ts';
import { createApiKey, displayPrefix, hashApiKey } from './key-format.ts';
import { type KeyLimitChange, NO_LIMITS } from './key-limit-store.ts';
import type { KeyReplacement, KeyReplacementStore } from './key-replacement-store.ts';
import type { KeyChange, KeyWithLimits, KeyWithLimitsStore } from './key-with-limits-store.ts';
import { type ModelBudgetChange, NO_MODEL_BUDGETS } from './model-budget-store.ts';
import type { Principals } from './principals.ts';
import { NO_RATE_LIMITS, type RateLimitChange } from './rate-limit-store.ts';

interface AskedKey extends Pick<NewKey, 'accountId' | 'name' | 'expiresAt' | 'scopes' | 'ownKeys'> {
  readonly limits?: KeyLimitChange | undefined;
  readonly rates?: RateLimitChange | undefined;
  readonly budgets?: readonly ModelBudgetChange[] | undefined;
  readonly allowed: AllowListChange;
  readonly userId: string | null;
}

/** A key that another program created and clients already use. */
type ImportedKeyText = Required<Pick<NewKey, 'keyHash' | 'prefix' | 'isRevoked'>>;

type AskedReplacement = Pick<KeyReplacement, 'accountId' | 'keyId' | 'expiresAt' | 'keepOldMs' | 'ownKeys'>;

/** A new key. `text` is the secret, which the gateway does not store. */
interface MadeKey {
  readonly key: ApiKey;
  readonly text: string;
}

interface KeysDependencies {
  readonly accounts: Pick<ApiKeyStore, 'insertKey' | 'revokeKey'>;
  readonly keysWithLimits: KeyWithLimitsStore;
  readonly keyReplacements: KeyReplacementStore;
  readonly principals: Pick<Principals, 'forget'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly fillRandom: FillRandom;
}

export type Keys = ReturnType<typeof createKeys>;

/** Creates, changes and revokes keys. After a change, every node drops the account's cached keys; this node does so before it returns. */
export function createKeys(dependencies: KeysDependencies) {
  const { accounts, keysWithLimits, keyReplacements, principals, clock, ids, fillRandom } = dependencies;

  const now = (): Date => new Date(clock.nowMs());

  function makeText() {
    const text = createApiKey(fillRandom);
    return { text, stored: { id: ids.next('key'), keyHash: hashApiKey(text), prefix: displayPrefix(text) } };
  }

  async function insert(
    { limits, rates, budgets = [], ...asked }: AskedKey,
    stored: Pick<NewKey, 'id' | 'keyHash' | 'prefix' | 'isImported' | 'isRevoked'>,
  ): Promise<KeyWithLimits> {
    const key = { ...asked, ...stored, at: now() };
    const isLimited = limits !== undefined || rates !== undefined || budgets.length > 0;
    if (isLimited) return keysWithLimits.insert(key, { limits, rates, budgets });
    return { key: await accounts.insertKey(key), limits: NO_LIMITS, rates: NO_RATE_LIMITS, budgets: NO_MODEL_BUDGETS };
  }

  return {
    async make(asked: AskedKey): Promise<MadeKey & KeyWithLimits> {
      const { text, stored } = makeText();
      return { ...(await insert(asked, stored)), text };
    },
    /** @throws TooManyKeysError; StatementError if another key has the same hash. */
    makeImported: (asked: AskedKey, text: ImportedKeyText): Promise<KeyWithLimits> =>
      insert(asked, { ...text, id: ids.next('key'), isImported: true }),
    /**
     * Changes a key. Returns `null` if it no longer exists; `too_many`, changing nothing, if rate limits would name too many models.
     * @throws TooManyBudgetsError
     */
    async change(key: ApiKey, change: KeyChange): Promise<ApiKey | 'too_many' | null> {
      const changed = await keysWithLimits.change(key, change);
      principals.forget(key.accountId);
      return changed;
    },
    /** Replaces a key. Returns `null` if it is revoked or has expired. @throws TooManyKeysError, NoMemberError */
    async replace(asked: AskedReplacement): Promise<(MadeKey & { readonly replaced: ApiKey }) | null> {
      const { text, stored } = makeText();
      const done = await keyReplacements.replace({ ...asked, ...stored, at: now() });
      if (done === null) return null;
      principals.forget(asked.accountId);
      return { ...done, text };
    },
    async revoke(keyId: string): Promise<boolean> {
      const accountId = await accounts.revokeKey(keyId, now());
      if (accountId === null) return false;
      principals.forget(accountId);
      return true;
    },
  };
}
