import type { HistoryRow } from './history-store.ts';

/** The ledger of one account. Entries must be posted in the order of their time. */
export class AccountLedger {
  readonly entries: HistoryRow[] = [];
  readonly #accountId: string;
  #balanceNano = 0n;

  constructor(accountId: string) {
    this.#accountId = accountId;
  }

  get balanceNano(): bigint {
    return this.#balanceNano;
  }

  get balance(): HistoryRow {
    return { accountId: this.#accountId, balanceNano: this.#balanceNano, lastEntryNo: this.entries.length };
  }

  /** Posts an entry and returns its number. `more`: values of further columns. */
  post(kind: 'top_up' | 'charge', amountNano: bigint, createdAtMs: number, more?: HistoryRow): number {
    this.#balanceNano += amountNano;
    const entryNo = this.entries.length + 1;
    const amounts = { amountNano, balanceAfterNano: this.#balanceNano };
    this.entries.push({ accountId: this.#accountId, entryNo, kind, ...amounts, createdAtMs, ...more });
    return entryNo;
  }

  /** Tops the balance up to an amount. Does nothing if the balance is already as high. */
  topUpTo(balanceNano: bigint, atMs: number): void {
    const missingNano = balanceNano - this.#balanceNano;
    if (missingNano > 0n) this.post('top_up', missingNano, atMs);
  }
}
