import type { Statement } from '../../db/database.ts';
import type { DirectoryLane, DirectoryQueryable } from '../../db/home-lanes.ts';
import { bigintColumn, dateColumn, intColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';

/** The SQL of accounts that are under way, in the directory. */

/** A request with the same key returns the first account instead of making another; with anything else it is a conflict. */
interface KeyedAccountRequest {
  readonly idempotencyKey: string;
  /** What is asked for. */
  readonly request: string;
}

export interface NewAccount {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly verified: boolean;
  readonly dailyCapNano: bigint | null;
  /** The first top-up; none if it is 0 or absent. */
  readonly openingNano?: bigint;
  /** Absent, or `null`: another request with the same content makes another account. */
  readonly keyed?: KeyedAccountRequest | null;
  readonly at: Date;
}

/** What the partition needs of an account that is under way. */
const OPENINGS = selection({
  id: textColumn('id'),
  dailyCapNano: orNull(bigintColumn('daily_cap_nano')),
  openingNano: bigintColumn('opening_nano'),
  at: dateColumn('created_at'),
  /** Where it is made. */
  partition: intColumn('partition_no as partition'),
});

export type Opening = RowOf<typeof OPENINGS>;

/** Waits for a transaction under way that has the same key. By the primary key. */
const insertRequest: Statement = {
  name: 'account-requests.insert',
  text: `insert into account_requests (idempotency_key, request, account_id, created_at) values ($1, $2, $3, $4)
on conflict (idempotency_key) do nothing
returning account_id`,
};

/** By the primary key. */
const selectRequest: Statement = {
  name: 'account-requests.select',
  text: 'select request, account_id from account_requests where idempotency_key = $1',
};

const insertNewAccount: Statement = {
  name: 'new-accounts.insert',
  text: `insert into new_accounts (id, name, email, verified, daily_cap_nano, opening_nano, created_at, partition_no)
values ($1, $2, $3, $4, $5::bigint, $6::bigint, $7, $8::smallint)`,
};

/** Plan: primary key. */
const selectOpening: Statement = {
  name: 'new-accounts.select',
  text: `select ${OPENINGS.list} from new_accounts where id = $1`,
};

/** In the order of ids. Plan: primary key; there are few. */
const listOpenings: Statement = {
  name: 'new-accounts.list',
  text: `select ${OPENINGS.list} from new_accounts
where id > $1 and under_way_since <= clock_timestamp() - $2::int * interval '1 millisecond'
order by id limit $3::int`,
};

/** Once, whoever does it. An import may have brought the account both ways. Plan: primary keys. */
const completeAccount: Statement = {
  name: 'new-accounts.complete',
  text: `with made as (delete from new_accounts where id = $1 returning *)
insert into accounts (id, name, email, verified, status, created_at, updated_at, partition_no)
select id, name, email, verified, 'active', created_at, created_at, partition_no from made
on conflict (id) do nothing`,
};

/** How many are finished at a time. */
const ROWS_MAX = 100;

export interface NewAccountStore {
  /**
   * Stores what is asked for. Returns the id of the account, that of the first one for the repeat of a request with an idempotency key,
   * `null` if the key was used for another account.
   *
   * @param partition where it is made
   */
  begin(account: NewAccount, partition: number): Promise<string | null>;
  /** `null` if the account is whole, or if there is none. */
  find(id: string): Promise<Opening | null>;
  /** Makes the account whole: from now on it is there. */
  complete(id: string): Promise<void>;
  /** Those that are under way for so long, behind an id. */
  list(behindId: string, olderThanMs: number): Promise<Opening[]>;
}

export function createNewAccountStore(directory: DirectoryLane): NewAccountStore {
  return {
    begin: ({ id, name, email, verified, dailyCapNano, openingNano = 0n, keyed = null, at }, partition) =>
      directory.transaction(async (transaction) => {
        const first = keyed === null ? null : await takeAccountKey(transaction, keyed, id, at);
        if (first !== null) return first === 'key_conflict' ? null : first.accountId;
        const values = [id, name, email, verified, dailyCapNano, openingNano, at, partition];
        await transaction.query(insertNewAccount, values);
        return id;
      }),
    find: async (id) => OPENINGS.first(await directory.query(selectOpening, [id])),
    async complete(id) {
      await directory.query(completeAccount, [id]);
    },
    list: async (behindId, olderThanMs) =>
      OPENINGS.all(await directory.query(listOpenings, [behindId, olderThanMs, ROWS_MAX])),
  };
}

/**
 * Takes a key for an account in the transaction that begins it: `null`, and the account is to be begun. Else the account
 * that was begun with the key, which may be under way, or `key_conflict` if that was asked for otherwise.
 */
async function takeAccountKey(
  transaction: DirectoryQueryable,
  { idempotencyKey, request }: KeyedAccountRequest,
  accountId: string,
  at: Date,
): Promise<{ readonly accountId: string } | 'key_conflict' | null> {
  const taken = await transaction.query(insertRequest, [idempotencyKey, request, accountId, at]);
  if (taken.length > 0) return null;
  const [first] = await transaction.query<{ request: string; account_id: string }>(selectRequest, [idempotencyKey]);
  return first!.request === request ? { accountId: first!.account_id } : 'key_conflict';
}
