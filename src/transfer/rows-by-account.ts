import type { AccountRow } from './export-tables-store.ts';
import { TransferError } from './format.ts';

interface Cursor {
  /** Returns the next rows; fewer than `rowsMax` if no others follow. */
  fetch(rowsMax: number): Promise<readonly AccountRow[]>;
}

/** Rows of a table by account. Accounts must be requested in the order of their ids. */
export class RowsByAccount {
  readonly #cursor: Cursor;
  readonly #rowsMax: number;
  #rows: readonly AccountRow[] = [];
  #next = 0;
  #isAtEnd = false;

  constructor(cursor: Cursor, rowsMax: number) {
    this.#cursor = cursor;
    this.#rowsMax = rowsMax;
  }

  /** Yields the rows of an account. Skips rows of earlier accounts, which were not requested. */
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
    // Freed first, so that the current and the next rows are never in memory together.
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
  'The database does not sort account ids in byte order, so its rows cannot be exported by account. ' +
  'Use pg_dump, or create a database with the locale C.UTF-8 and move it there with pg_dump.';
