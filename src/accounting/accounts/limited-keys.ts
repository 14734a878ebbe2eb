import { isDataError } from '../../db/errors.ts';
import { type Questions, refusedFor } from '../../db/questions/database-questions.ts';
import { ItemBatcher } from '../../lib/batcher.ts';
import type { KeyLimitation, LimitedKeyStore, LookedUpKey } from './limited-key-store.ts';

export type LimitedKeys = ReturnType<typeof createLimitedKeys>;

/** Looks up the limits of keys. Concurrent lookups in the same partition share one statement. */
export function createLimitedKeys(store: LimitedKeyStore, questions: Questions) {
  const lookUps = new ItemBatcher<LookedUpKey, KeyLimitation>({
    run: questions.guard((keys, { signal }) => store.find(keys, signal)),
    limit: questions.limit,
    isItemFault: isDataError,
    batchItemsMax: 256,
    waitingItemsMax: 20_000,
  });
  return {
    /** @throws GatewayError `databaseDown`. */
    find: (key: LookedUpKey): Promise<KeyLimitation> =>
      lookUps.submit(key).catch((error: unknown) => {
        throw refusedFor(error);
      }),
  };
}
