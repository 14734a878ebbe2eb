import type { AccountRow } from './export-tables-store.ts';
import { TransferError } from './format.ts';

interface Cursor {
  /** The next rows of a table, as many as these if there are so many. */
  fetch(rowsMax: number): Promise<readonly AccountRow[]>;
}

/** The rows of a table by account. Accounts are asked for in the order of their ids. */
export class RowsByAccount {
  readonly #cursor: Cursor;
  readonly #rowsMax: number;
  #rows: readonly AccountRow[] = [];
  #next = 0;
  #isAtEnd = false;

  /** `rowsMax`: how many rows are in memory. */
  constructor(cursor: Cursor, rowsMax: number) {
    this.#cursor = cursor;
    this.#rowsMax = rowsMax;
  }

  /** The rows of an account, as many at a time as are in memory. Those of accounts before it, for which nobody has asked, are passed over. */
  async *of(accountId: string): AsyncGenerator<readonly AccountRow[]> {
    for (;;) {
      const rows = this.#rows;
      let first = this.#next;
      while (first < rows.length && rows[first]!.account_id < accountId) first++;
      let end = first;
      while (end < rows.length && rows[end]!.account_id === accountId) end++;
      this.#next = end;
      if (end > first) yield rows.slice(first, end);
      if (end < rows.length || this.#isAtEnd) return;
      await this.#fetch();
    }
  }

  async all(accountId: string): Promise<readonly AccountRow[]> {
    const found: AccountRow[] = [];
    for await (const rows of this.of(accountId)) found.push(...rows);
    return found;
  }

  async #fetch(): Promise<void> {
    let last = this.#rows.at(-1)?.account_id ?? '';
    // Not those and the next ones at a time.
    this.#rows = [];
    this.#rows = await this.#cursor.fetch(this.#rowsMax);
    this.#next = 0;
    this.#isAtEnd = this.#rows.length < this.#rowsMax;
    for (const { account_id: accountId } of this.#rows) {
      if (accountId < last) throw new TransferError(SORTED_DIFFERENTLY);
      last = accountId;
    }
  }
}

const SORTED_DIFFERENTLY =
  'The database sorts the ids of its accounts in another order than that of their bytes, so its rows cannot be exported by account. ' +
  'Use pg_dump, or create a database with the locale C.UTF-8 and move it there with pg_dump.';
