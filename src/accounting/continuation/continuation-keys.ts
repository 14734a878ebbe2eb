import { type Questions, refusedFor } from '../../db/questions/database-questions.ts';
import { ItemBatcher } from '../../lib/batcher.ts';
import type { ContinuationKeyStore, ContinuationLookup, ContinuedState } from './continuation-key-store.ts';

/** How long keys are kept. Providers keep responses for thirty days. */
const KEPT_MS = 30 * 24 * 3_600_000;
const BATCH_ITEMS_MAX = 64;
const WAITING_ITEMS_MAX = 10_000;

export function oldestContinuationKey(nowMs: number): Date {
  return new Date(nowMs - KEPT_MS);
}

export type ContinuationKeys = ReturnType<typeof createContinuationKeys>;

/** Finds the provider that created the state which a call continues. No other provider can read it (`docs/provider-state.md`). */
export function createContinuationKeys(store: ContinuationKeyStore, questions: Questions) {
  const limits = { batchItemsMax: BATCH_ITEMS_MAX, waitingItemsMax: WAITING_ITEMS_MAX, isItemFault: () => false };
  const lookups = new ItemBatcher({
    ...limits,
    run: questions.guard<ContinuationLookup, ReadonlyMap<string, ContinuedState>>((wanted, { signal }) =>
      store.find(wanted, signal),
    ),
    limit: questions.limit,
  });
  return {
    /** @throws GatewayError `databaseDown`. */
    async find(accountId: string, keys: readonly string[]): Promise<ReadonlyMap<string, ContinuedState>> {
      if (keys.length === 0) return new Map();
      try {
        return await lookups.submit({ accountId, keys });
      } catch (error) {
        throw refusedFor(error);
      }
    },
    drain: (): Promise<void> => lookups.drain(),
  };
}
