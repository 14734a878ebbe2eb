import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Subscription } from '../../db/database.ts';
import { isDataError } from '../../db/errors.ts';
import type { DirectoryDatabase } from '../../db/home-lanes.ts';
import { type Questions, refusedFor } from '../../db/questions/database-questions.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { ItemBatcher } from '../../lib/batcher.ts';
import type { Clock } from '../../lib/clock.ts';
import type { AddressRanges } from '../../lib/ip-address.ts';
import type { Soon } from '../../lib/soon.ts';
import type { KnownPartitions } from '../partitions/routes.ts';
import { allowedRanges } from './allow-lists.ts';
import { createImportedKeys } from './imported-keys.ts';
import { displayPrefix, isApiKey, mayBeImportedKey } from './key-format.ts';
import type { KeyLimitation } from './limited-key-store.ts';
import type { LimitedKeys } from './limited-keys.ts';
import { PRINCIPALS_CHANNEL } from './principal-change-store.ts';
import { type KeyStatus, type KeyStatusStore, refusalOfKey } from './status-store.ts';

/** The account and the key that a request was authenticated as. */
export interface Principal {
  readonly accountId: string;
  readonly keyId: string;
  /** What lists show of the key. */
  readonly keyPrefix: string;
  /** Whether what the key may use is limited. */
  readonly isKeyLimited: boolean;
  /** The person whose key it is, if what that person may use is limited. */
  readonly memberId: string | null;
  /** The models that the key may use, by canonical ids; `null`: every model. */
  readonly allowedModels: ReadonlySet<string> | null;
  /** Those that the person may use whose key it is, likewise. */
  readonly memberModels: ReadonlySet<string> | null;
  /** Where the key may be used from; `null`: everywhere. */
  readonly allowedNetworks: AddressRanges | null;
  /** Whether the account or the key has limits by the minute of its own. */
  readonly isRateLimited: boolean;
  /** Whether the key reads the balance of the account; where not, what its own budgets leave. */
  readonly seesBalance: boolean;
  /** Whether the key has the scope `calls`. */
  readonly mayCall: boolean;
  /** Whether there is no other account, which the load of this one could delay. It may change while a call runs. */
  readonly isOnlyAccount: boolean;
}

/** What principals are found by; it says nothing about the key. */
export const principalHash = (key: string): string => hash('sha256', key, 'base64');

interface CachedStatus {
  readonly status: KeyStatus;
  readonly principal: Principal;
  readonly readAtMs: number;
}

const MALFORMED = 'The API key is malformed. Keys begin with sk-fg- and have 44 characters.';
/** Keys; each entry of an allow-list takes the place of one more. */
const CACHED_KEYS_MAX = 100_000;
const TRUST_MS = 60_000;

interface PrincipalsOptions {
  readonly store: KeyStatusStore;
  readonly limitedKeys: LimitedKeys;
  /** Learns where accounts are. */
  readonly partitions: Pick<KnownPartitions, 'note'>;
  /** Notifications are of a whole server, so those that partitions send are heard here, too. */
  readonly directory: Pick<DirectoryDatabase, 'subscribe'>;
  readonly questions: Questions;
  readonly clock: Clock;
  /** Called with each principal that is authenticated. */
  readonly onUse?: ((principal: Principal) => void) | undefined;
}

export type Principals = Awaited<ReturnType<typeof createPrincipals>>;

/**
 * Finds the account of a key. Standings are cached; when a key or its account changes, every node is notified and drops it
 * (contract 5). While notifications cannot reach a node, which it knows after four seconds, it reads every key from the
 * database, those of calls that come together in one statement.
 */
export async function createPrincipals(options: PrincipalsOptions) {
  const { store, limitedKeys, partitions, directory, questions, clock, onUse } = options;
  // With `max`, the cache would take the memory for all of them at once.
  const cache = new LRUCache<string, CachedStatus>({ maxSize: CACHED_KEYS_MAX, sizeCalculation: sizeOf });
  /** Counts the drops: a look-up that was under way during one may have read the old row, so it is not cached. */
  let generation = 0;
  /** Once a second account has been seen, no account is the only one any more, even if it was cached as such. */
  let hasSeveralAccounts = false;

  const lookUps = new ItemBatcher<Buffer, KeyStatus | null>({
    run: questions.guard((keyHashes, { signal }) => store.findStatuses(keyHashes, signal)),
    limit: questions.limit,
    isItemFault: isDataError,
    batchItemsMax: 256,
    waitingItemsMax: 20_000,
  });

  const importedKeys = createImportedKeys((signal) => store.hasImportedKeys(signal), questions, clock);

  function forget(accountId: string): void {
    generation++;
    importedKeys.forget();
    const keyHashes: string[] = [];
    for (const [keyHash, { status }] of cache.entries()) if (status.accountId === accountId) keyHashes.push(keyHash);
    for (const keyHash of keyHashes) cache.delete(keyHash);
  }

  function forgetAll(): void {
    generation++;
    importedKeys.forget();
    cache.clear();
  }

  const subscription: Subscription = await directory.subscribe(PRINCIPALS_CHANNEL, forget, forgetAll);

  function toPrincipal(status: KeyStatus, limitation: KeyLimitation, keyPrefix: string): Principal {
    const { accountId, keyId, allowed, scopes, seesBalance } = status;
    return {
      accountId,
      keyId,
      keyPrefix,
      ...limitation,
      seesBalance,
      mayCall: scopes.includes('calls'),
      allowedModels: allowed.models && new Set(allowed.models),
      memberModels: limitation.memberModels && new Set(limitation.memberModels),
      allowedNetworks: allowedRanges(allowed.networks),
      get isOnlyAccount() {
        return !hasSeveralAccounts;
      },
    };
  }

  function findCached(keyHash: string): CachedStatus | null {
    const cached = cache.get(keyHash);
    const isFresh = cached !== undefined && clock.nowMs() - cached.readAtMs < TRUST_MS;
    return isFresh && subscription.isConnected ? cached : null;
  }

  async function lookUp(keyHash: string, keyPrefix: string): Promise<CachedStatus | null> {
    const readAtMs = clock.nowMs();
    const generationBefore = generation;
    const status = await lookUps.submit(Buffer.from(keyHash, 'base64')).catch((error: unknown) => {
      throw refusedFor(error);
    });
    if (status === null) {
      cache.delete(keyHash);
      return null;
    }
    if (!status.isOnlyAccount) hasSeveralAccounts = true;
    partitions.note(status.accountId, status.partition);
    // After the key, so that limits that were committed with it are seen.
    const limitation = await limitedKeys.find(status);
    const found = { status, principal: toPrincipal(status, limitation, keyPrefix), readAtMs };
    if (generation === generationBefore) cache.set(keyHash, found);
    return found;
  }

  function accept({ status, principal }: CachedStatus, noted: { principal: Principal | null } | undefined): Principal {
    if (noted !== undefined) noted.principal = principal;
    const refusal = refusalOfKey(status, clock.nowMs());
    if (refusal !== null) throw refused(refusal);
    if (!status.isVerified) throw refused('The account of this API key is not verified.');
    onUse?.(principal);
    return principal;
  }

  async function lookUpUnknown(
    key: string,
    keyHash: string,
    noted: { principal: Principal | null } | undefined,
  ): Promise<Principal> {
    const found = await lookUp(keyHash, displayPrefix(key));
    if (found === null) throw refused('The API key is unknown.');
    return accept(found, noted);
  }

  return {
    /**
     * `keyHash`: the key's `principalHash`, if the caller has it. `noted.principal` becomes whose key it is, also where it is
     * refused.
     *
     * @throws GatewayError, or rejects with it: `invalidApiKey`, with a message that says what is wrong with the key; `databaseDown`.
     */
    authenticate(
      key: string,
      keyHash: string = principalHash(key),
      noted?: { principal: Principal | null },
    ): Soon<Principal> {
      const cached = findCached(keyHash);
      if (cached !== null) return accept(cached, noted);
      if (isApiKey(key)) return lookUpUnknown(key, keyHash, noted);
      if (!mayBeImportedKey(key)) throw refused(MALFORMED);
      return importedKeys.areThere().then((areThere) => {
        if (!areThere) throw refused(MALFORMED);
        return lookUpUnknown(key, keyHash, noted);
      });
    },
    /** The account and key of this hash, also if it is refused; `null` if the cache does not have it. */
    holderOf: (keyHash: string): Principal | null => cache.get(keyHash)?.principal ?? null,
    /** Whether the cache has the key of this hash, so that it need not be looked up for the first time. */
    isCached: (keyHash: string): boolean => cache.get(keyHash) !== undefined,
    /** Drops the cached keys of an account at once on this node. The database notifies other nodes. */
    forget,
    close: (): Promise<void> => subscription.close(),
    /** Whether notifications reach this node. */
    get isNotified(): boolean {
      return subscription.isConnected;
    },
    get cachedKeys(): number {
      return cache.size;
    },
  };
}

function sizeOf({ status: { allowed }, principal: { memberModels } }: CachedStatus): number {
  return 1 + (allowed.models?.length ?? 0) + (allowed.networks?.length ?? 0) + (memberModels?.size ?? 0);
}

function refused(message: string): GatewayError {
  return new GatewayError('invalidApiKey', { message });
}
