import { createBatcher } from '../lib/batcher.ts';
import type { AdmissionVerdict } from './holds.ts';
import type { BalanceState, LedgerStore } from './ledger-store.ts';

/** What an admission would answer now, whatever the call: nothing is held by asking. */
export type BalanceLook = (accountId: string) => Promise<AdmissionVerdict>;

export interface BalanceLookOptions {
  readonly store: Pick<LedgerStore, 'findBalances'>;
  /** The billing time zone's date, `YYYY-MM-DD`. */
  readonly today: () => string;
  readonly defaultDailyCapNano: () => bigint | null;
}

/** Looks at balances, those asked for at the same time in one statement. */
export function createBalanceLook({ store, today, defaultDailyCapNano }: BalanceLookOptions): BalanceLook {
  const looks = createBatcher<string, AdmissionVerdict>({
    async run(accountIds) {
      const balances = await store.findBalances([...new Set(accountIds)], today());
      return accountIds.map((id) => judgeBalance(balances.get(id) ?? null, defaultDailyCapNano()));
    },
    isItemFault: () => false,
    batchItemsMax: 256,
    waitingItemsMax: 20_000,
  });
  return (accountId) => looks.submit(accountId);
}

/** As admission decides on the first call of a batch. */
export function judgeBalance(state: BalanceState | null, defaultDailyCapNano: bigint | null): AdmissionVerdict {
  if (state === null) return 'unknown_account';
  if (state.balanceNano - state.heldNano <= 0n) return 'insufficient_balance';
  const capNano = state.dailyCapNano ?? defaultDailyCapNano;
  return capNano !== null && state.spentTodayNano + state.heldNano >= capNano ? 'daily_limit_exceeded' : 'admitted';
}
