import { type Lane, toArray } from '../../db/database.ts';
import type { StoredRow } from '../../db/table.ts';
import { readKeys } from './account-store.ts';
import { smallestBudgetLeft } from './limits/key-budgets.ts';
import { KEY_LIMITS } from './tables.ts';

/** Reads what remains of the budgets of a key, for whoever may spend by the key and does not see the balance. */
export interface KeyBudgetStore {
  /** What the budget leaves that leaves least, in nano-yuan; `null` where the key has none. `today`: in the billing time zone. */
  smallestLeftNano(accountId: string, keyId: string, today: string): Promise<bigint | null>;
}

export function createKeyBudgetStore(database: Lane): KeyBudgetStore {
  return {
    async smallestLeftNano(accountId, keyId, today) {
      const [row] = await database.query<StoredRow>(readKeys, [toArray([accountId]), toArray([keyId])]);
      return row === undefined ? null : smallestBudgetLeft(KEY_LIMITS.columns.read(row), today);
    },
  };
}
