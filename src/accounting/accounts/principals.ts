import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Subscription } from '../../db/database.ts';
import { isDataError } from '../../db/errors.ts';
import type { DirectoryDatabase } from '../../db/home-pools.ts';
import { type Questions, refusedFor } from '../../db/questions/database-questions.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { ItemBatcher } from '../../lib/batcher.ts';
import type { Clock } from '../../lib/clock.ts';
import type { AddressRanges } from '../../lib/ip-address.ts';
import type { Soon } from '../../lib/soon.ts';
import type { KnownPartitions } from '../partitions/routes.ts';
import { allowedRanges } from './allow-lists.ts';
import { type OwnersWithBudgets, ownersWithBudgets } from './budget-ids.ts';
import { type BudgetedCallers, budgetedCallers } from './caller-budget-ids.ts';
import { createImportedKeys } from './imported-keys.ts';
import { displayPrefix, isApiKey, mayBeImportedKey } from './key-format.ts';
import type { KeyLimitation } from './limited-key-store.ts';
import type { LimitedKeys } from './limited-keys.ts';
import { PRINCIPALS_CHANNEL } from './principal-change-store.ts';
import { type Recording, recordingOrNull } from './recording.ts';
import { type KeyStatus, type KeyStatusStore, refusalOfKey } from './status-store.ts';

export interface Principal {
  readonly accountId: string;
  readonly keyId: string;
  readonly keyPrefix: string;
  readonly isKeyLimited: boolean;
  /** The user who owns the key, if the account limits this member; otherwise `null`. */
  readonly memberId: string | null;
  /** Canonical ids of the models that the key may use; `null`: every model. */
  readonly allowedModels: ReadonlySet<string> | null;
  readonly memberModels: ReadonlySet<string> | null;
  /** `null`: neither the key nor its member has budgets for single models. */
  readonly modelBudgets: OwnersWithBudgets | null;
  /** `null`: the account has no budgets of end users and tags. */
  readonly callerBudgets: BudgetedCallers | null;
  readonly accountModels: ReadonlySet<string> | null;
  /** The group of the account; `null`: none. The group's own list of models is in the catalog. */
  readonly groupId: string | null;
  /** The networks from which the key may be used; `null`: every network. */
  readonly allowedNetworks: AddressRanges | null;
  readonly isRateLimited: boolean;
  /** Whether the key may read the balance. Otherwise it reads what remains of its own budgets. */
  readonly seesBalance: boolean;
  /** What the account records of its callers; `null`: nothing. */
  readonly recording: Recording | null;
  readonly mayCall: boolean;
  /** Whether this is the only account of the gateway. The value can change while a call runs. */
  readonly isOnlyAccount: boolean;
}

export const principalHash = (key: string): string => hash('sha256', key, 'base64');

interface CachedStatus {
  readonly status: KeyStatus;
  readonly principal: Principal;
  readonly readAtMs: number;
}

const MALFORMED = 'The API key is malformed. Keys begin with sk-fg- and have 44 characters.';
/** Capacity of the cache in keys. Each entry of an allow-list counts like a key. */
const CACHED_KEYS_MAX = 100_000;
const TRUST_MS = 60_000;

interface PrincipalsOptions {
  readonly store: KeyStatusStore;
  readonly limitedKeys: LimitedKeys;
  readonly partitions: Pick<KnownPartitions, 'note'>;
  /** PostgreSQL sends notifications to the whole server, so this subscription also receives those that partitions send. */
  readonly directory: Pick<DirectoryDatabase, 'subscribe'>;
  readonly questions: Questions;
  readonly clock: Clock;
  readonly onUse?: ((principal: Principal) => void) | undefined;
}

export type Principals = Awaited<ReturnType<typeof createPrincipals>>;

/** Caches the status of keys (contract 5). A node that misses notifications detects this within four seconds and then reads every key. */
export async function createPrincipals(options: PrincipalsOptions) {
  const { store, limitedKeys, partitions, directory, questions, clock, onUse } = options;
  // A limit by size, because `max` would allocate memory for all entries in advance.
  const cache = new LRUCache<string, CachedStatus>({ maxSize: CACHED_KEYS_MAX, sizeCalculation: sizeOf });
  /** Incremented whenever entries are dropped. A lookup that was pending then may be outdated, so its result is not cached. */
  let generation = 0;
  /** Whether several accounts were found. From then on, cached values of `isOnlyAccount` are ignored. */
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
    const { accountId, keyId, userId, allowed, accountModels, groupId, scopes, seesBalance, recording } = status;
    const { isKeyLimited, isRateLimited, memberId, keyBudgets, memberBudgets, callerBudgets } = limitation;
    return {
      accountId,
      keyId,
      keyPrefix,
      isKeyLimited,
      isRateLimited,
      memberId,
      modelBudgets: ownersWithBudgets(
        keyBudgets && { ownerId: keyId, models: new Set(keyBudgets) },
        memberBudgets && { ownerId: userId!, models: new Set(memberBudgets) },
      ),
      callerBudgets: budgetedCallers(callerBudgets),
      seesBalance,
      recording: recordingOrNull(recording),
      mayCall: scopes.includes('calls'),
      allowedModels: allowed.models && new Set(allowed.models),
      memberModels: limitation.memberModels && new Set(limitation.memberModels),
      accountModels: accountModels && new Set(accountModels),
      groupId,
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
    // Limits are read after the key, so that limits that were committed together with the key are found.
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
     * Authenticates a key. Some errors are thrown at once; others reject the promise.
     *
     * @param noted receives the principal even if the key is refused
     * @throws GatewayError `invalidApiKey`, whose message states the reason, or `databaseDown`.
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
    /** Returns the cached principal of a key, also of a refused one; `null` if the key is not cached. */
    tenantOf: (keyHash: string): Principal | null => cache.get(keyHash)?.principal ?? null,
    isCached: (keyHash: string): boolean => cache.get(keyHash) !== undefined,
    /** Drops cached keys on this node. The database notifies the other nodes. */
    forget,
    close: (): Promise<void> => subscription.close(),
    get isNotified(): boolean {
      return subscription.isConnected;
    },
    get cachedKeys(): number {
      return cache.size;
    },
  };
}

function sizeOf({
  status: { allowed, accountModels },
  principal: { memberModels, modelBudgets, callerBudgets },
}: CachedStatus): number {
  const lists = [allowed.models, allowed.networks, accountModels];
  const ofCallers = Object.values(callerBudgets ?? {}).map((values) => (values === 'all' ? null : values));
  const sets = [memberModels, modelBudgets?.key?.models, modelBudgets?.member?.models, ...ofCallers];
  return 1 + sum(lists.map((list) => list?.length ?? 0)) + sum(sets.map((set) => set?.size ?? 0));
}

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

function refused(message: string): GatewayError {
  return new GatewayError('invalidApiKey', { message });
}
