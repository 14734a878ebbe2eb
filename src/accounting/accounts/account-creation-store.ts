import type { Statement } from '../../db/database.ts';
import type { PartitionLane, TransactionOverBoth } from '../../db/home-lanes.ts';
import { postEntry } from '../ledger/ledger-store.ts';
import type { Place } from '../partitions/placement.ts';
import { partAt, type Routes } from '../partitions/routes.ts';

/** The SQL of new accounts, in the directory and in their partition. */

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

/** Waits for a transaction with the same key to end. Plan: primary key. */
const insertRequest: Statement = {
  name: 'account-requests.insert',
  text: `insert into account_requests (idempotency_key, request, account_id, created_at) values ($1, $2, $3, $4)
on conflict (idempotency_key) do nothing
returning account_id`,
};

/** Plan: primary key. */
const selectRequest: Statement = {
  name: 'account-requests.select',
  text: 'select request, account_id from account_requests where idempotency_key = $1',
};

const insertBalance: Statement = {
  name: 'accounts.insert-balance',
  text: 'insert into balances (account_id, daily_cap_nano) values ($1, $2::bigint)',
};

const insertAccount: Statement = {
  name: 'accounts.insert',
  text: `insert into accounts (id, name, email, verified, status, created_at, updated_at, partition_no)
values ($1, $2, $3, $4, 'active', $5, $5, $6::smallint)`,
};

export type AccountCreations = ReturnType<typeof createAccountCreations>;

/** @param place where a new account goes. */
export const createAccountCreations = ({ all }: Pick<Routes<PartitionLane>, 'all'>, place: Place) => ({
  /**
   * Creates an account with its balance and its first top-up. Returns its id, that of the first one for the repeat of a request with an
   * idempotency key, `null` if the key was used for another account.
   */
  async create({ id, dailyCapNano, openingNano = 0n, keyed = null, at, ...named }: NewAccount): Promise<string | null> {
    const partition = await place();
    return partAt(all, partition).transactionWithDirectory(async (transaction) => {
      // Before the balance, unlike other transactions of both: nobody else knows the account, so nobody waits for its balance.
      const first = keyed === null ? id : await requestedFirst(transaction, keyed, id, at);
      if (first !== id) return first;
      await transaction.query(insertBalance, [id, dailyCapNano]);
      if (openingNano !== 0n) {
        const topUp = { kind: 'top_up', amountNano: openingNano, memo: null, idempotencyKey: null } as const;
        await postEntry(transaction, { accountId: id, ...topUp, at });
      }
      await transaction.query(insertAccount, [id, named.name, named.email, named.verified, at, partition]);
      return id;
    });
  },
});

/** Returns the account that was first requested with a key, which is the given one if there was none; `null` if another one was requested. */
async function requestedFirst(
  transaction: TransactionOverBoth,
  { idempotencyKey, request }: KeyedAccountRequest,
  accountId: string,
  at: Date,
): Promise<string | null> {
  const taken = await transaction.query(insertRequest, [idempotencyKey, request, accountId, at]);
  if (taken.length > 0) return accountId;
  const [first] = await transaction.query<{ request: string; account_id: string }>(selectRequest, [idempotencyKey]);
  return first!.request === request ? first!.account_id : null;
}
