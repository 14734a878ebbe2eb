import { randomFillSync } from 'node:crypto';
import { createApiKeyStore } from '../../src/accounting/accounts/api-key-store.ts';
import { createKeyReplacementStore } from '../../src/accounting/accounts/key-replacement-store.ts';
import { createKeyWithLimitsStore, type KeyChange } from '../../src/accounting/accounts/key-with-limits-store.ts';
import { createKeys, type Keys } from '../../src/accounting/accounts/keys.ts';
import type { DatabasePool } from '../../src/db/database.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createIds } from '../../src/lib/ids.ts';
import { type HomePools, inOneDatabase, placedInOne } from './in-one-database.ts';

/** Key functions without any cache. */
export function keysOn(homes: HomePools, clock: Clock): Keys {
  const pools = placedInOne(homes);
  return createKeys({
    accounts: createApiKeyStore(homes.directory),
    keysWithLimits: createKeyWithLimitsStore(pools),
    keyReplacements: createKeyReplacementStore(pools),
    principals: { forget: () => undefined },
    clock,
    ids: createIds(clock),
    fillRandom: randomFillSync,
  });
}

/** Creates a key with limits and a given id. */
export async function insertLimitedKey(
  pool: DatabasePool,
  { accountId, id, at }: { readonly accountId: string; readonly id: string; readonly at: Date },
  given: Pick<KeyChange, 'limits' | 'rates' | 'budgets'>,
): Promise<void> {
  const key = { accountId, id, name: id, keyHash: Buffer.from(id), prefix: 'p', expiresAt: null, at };
  await createKeyWithLimitsStore(placedInOne(inOneDatabase(pool))).insert(key, given);
}
