import { randomFillSync } from 'node:crypto';
import { createApiKeyStore } from '../../src/accounting/accounts/api-key-store.ts';
import { createKeyLimitStore, type KeyLimitChange } from '../../src/accounting/accounts/key-limit-store.ts';
import { createKeyReplacementStore } from '../../src/accounting/accounts/key-replacement-store.ts';
import { createKeys, type Keys } from '../../src/accounting/accounts/keys.ts';
import { createLooseKeyStore } from '../../src/accounting/accounts/loose-key-store.ts';
import { makeLimited, removeLooseLimits } from '../../src/accounting/accounts/loose-keys.ts';
import { createLooseLimitStore } from '../../src/accounting/accounts/loose-limit-store.ts';
import { createRateLimitStore, type RateLimitChange } from '../../src/accounting/accounts/rate-limit-store.ts';
import type { Lane } from '../../src/db/database.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createIds } from '../../src/lib/ids.ts';
import { type HomeLanes, inOneDatabase, placedInOne } from './in-one-database.ts';

/** The keys of a process: nothing of what it does is cached by it. */
export function keysOn({ directory, partition }: HomeLanes, clock: Clock): Keys {
  return createKeys({
    accounts: createApiKeyStore(directory),
    looseKeys: createLooseKeyStore(directory),
    looseLimits: createLooseLimitStore(partition),
    keyLimits: createKeyLimitStore(partition),
    keyReplacements: createKeyReplacementStore(directory),
    rateLimits: createRateLimitStore(partition),
    principals: { forget: () => undefined },
    clock,
    ids: createIds(clock),
    fillRandom: randomFillSync,
  });
}

/** Removes the limits of loose keys, as the housekeeping does. */
export function removeLoose(homes: HomeLanes): Promise<boolean> {
  const { directory, partitions } = placedInOne(homes);
  const stores = {
    looseKeys: createLooseKeyStore(directory),
    looseLimits: partitions.map((partition) => createLooseLimitStore(partition)),
  };
  return removeLooseLimits(stores, new AbortController().signal);
}

/** Makes a key with limits, of an id that the test knows. */
export async function insertLimitedKey(
  lane: Lane,
  { accountId, id, at }: { readonly accountId: string; readonly id: string; readonly at: Date },
  given: { readonly limits?: KeyLimitChange; readonly rates?: RateLimitChange },
): Promise<void> {
  const { directory, partition } = inOneDatabase(lane);
  const key = { accountId, keyId: id, replacedId: null, endsReplaced: false, at };
  const made = { accountId, id, name: id, keyHash: Buffer.from(id), prefix: 'p', expiresAt: null, isBegun: true, at };
  await makeLimited(
    createLooseKeyStore(directory),
    key,
    () => createLooseLimitStore(partition).set(key, given),
    () => createApiKeyStore(directory).insertKey(made),
  );
}
