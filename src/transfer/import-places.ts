import { createPlacement } from '../accounting/partitions/placement.ts';
import { isOfAccount } from './import-store.ts';
import type { ExportedTable } from './tables.ts';

/** In the rows of the database's own JSON; a quote inside of a text has a backslash before it. */
const ID = /"id": ?"([^"]+)"/;
const ACCOUNT_ID = /"account_id": ?"([^"]+)"/;

/** Which partition rows of an import go to, by its number. Accounts are spread as new ones are; a file says nothing of where they were. */
export class Places {
  readonly #partitions: number;
  readonly #find: (accountId: string) => Promise<number | null>;
  readonly #next: () => Promise<number>;
  /** Rows of an account follow each other. */
  #last = { accountId: '', place: 0 };

  /** `find`: where an account is of which a row was added; `null`: none was. */
  constructor(partitions: number, find: (accountId: string) => Promise<number | null>) {
    this.#partitions = partitions;
    this.#find = find;
    const all = Array.from({ length: partitions }, (_, number) => number);
    // Nobody else is there: the database is empty.
    const empty = { count: async () => [], listTaking: async () => all };
    this.#next = createPlacement(partitions, empty, { nowMs: () => 0 });
  }

  /** 0 for what belongs to no account of a partition. */
  async ofRow(table: ExportedTable, row: string): Promise<number> {
    if (this.#partitions === 1) return 0;
    if (table === 'accounts') {
      this.#last = { accountId: idIn(ID, row), place: await this.#next() };
      return this.#last.place;
    }
    return isOfAccount(table) ? this.of(idIn(ACCOUNT_ID, row)) : 0;
  }

  /** Of an account that is not there it is the first one: nothing is imported then. */
  async of(accountId: string): Promise<number> {
    if (this.#partitions === 1 || accountId === this.#last.accountId) return this.#last.place;
    this.#last = { accountId, place: (await this.#find(accountId)) ?? 0 };
    return this.#last.place;
  }
}

const idIn = (pattern: RegExp, row: string): string => pattern.exec(row)?.[1] ?? '';
