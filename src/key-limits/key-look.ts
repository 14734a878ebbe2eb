import { createBatcher } from '../lib/batcher.ts';
import type { LimitVerdict } from './store.ts';
import type { AskedKey, KeyLeft, KeyUseStore } from './use-store.ts';

/**
 * What an admission would answer now, whatever the call: nothing is held by asking. Calls at the same time are left out:
 * one of them may have ended when the call is there.
 */
export type KeyLook = (key: AskedKey, costsMoney: boolean) => Promise<LimitVerdict>;

export interface KeyLookOptions {
  readonly store: KeyUseStore;
  /** The billing time zone's date, `YYYY-MM-DD`. */
  readonly today: () => string;
}

/** Looks at limited keys, those asked for at the same time in one statement. */
export function createKeyLook({ store, today }: KeyLookOptions): KeyLook {
  const looks = createBatcher<AskedKey, KeyLeft | null>({
    run: (keys) => store.findLeft(keys, today()),
    isItemFault: () => false,
    batchItemsMax: 256,
    waitingItemsMax: 20_000,
  });
  return async (key, costsMoney) => judgeKey(await looks.submit(key), costsMoney);
}

/** As admission decides on the first call of a batch. */
export function judgeKey(left: KeyLeft | null, costsMoney: boolean): LimitVerdict {
  if (costsMoney && left !== null && left.spendNano !== null && left.spendNano <= 0n) return 'spend_limited';
  return left !== null && left.calls !== null && left.calls <= 0 ? 'calls_limited' : 'admitted';
}
