import type { Statement } from '../../db/database.ts';
import type { PartitionPool, TransactionOverBoth } from '../../db/home-pools.ts';
import { postEntry } from '../ledger/ledger-store.ts';
import type { Place } from '../partitions/placement.ts';
import { partAt, type Routes } from '../partitions/routes.ts';

/** An idempotency key and its request. A repeated request returns the first account; a different request is a conflict. */
interface KeyedAccountRequest {
  readonly idempotencyKey: string;
  readonly request: string;
}

export interface NewAccount {
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly verified: boolean;
  /** The group of the account; absent or `null`: none. */
  readonly groupId?: string | null;
  readonly dailyCapNano: bigint | null;
  /** Amount of the first top-up; 0 or absent: no top-up. */
  readonly openingNano?: bigint;
  /** Idempotency key of the request; absent or `null`: a repeated request creates another account. */
  readonly keyed?: KeyedAccountRequest | null;
  readonly at: Date;
}

/** Inserts an idempotency key. Waits for concurrent transactions that insert the same key. */
const insertRequest: Statement = {
  name: 'account-requests.insert',
  text: `insert into account_requests (idempotency_key, request, account_id, created_at) values ($1, $2, $3, $4)
on conflict (idempotency_key) do nothing
returning account_id`,
};

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
  text: `insert into accounts (id, name, email, verified, status, created_at, updated_at, partition_no, group_id)
values ($1, $2, $3, $4, 'active', $5, $5, $6::smallint, $7)`,
};

export type AccountCreations = ReturnType<typeof createAccountCreations>;

export const createAccountCreations = ({ all }: Pick<Routes<PartitionPool>, 'all'>, place: Place) => ({
  /** Returns the id of the new account, or of the first one for a repeated request; `null` if the key belongs to a different request. */
  async create({ id, dailyCapNano, openingNano = 0n, keyed = null, at, ...named }: NewAccount): Promise<string | null> {
    const partition = await place();
    return partAt(all, partition).transactionWithDirectory(async (transaction) => {
      // The balance needs no lock, because no other transaction knows the account yet.
      const first = keyed === null ? id : await requestedFirst(transaction, keyed, id, at);
      if (first !== id) return first;
      await transaction.query(insertBalance, [id, dailyCapNano]);
      if (openingNano !== 0n) {
        const topUp = { kind: 'top_up', amountNano: openingNano, memo: null, idempotencyKey: null } as const;
        await postEntry(transaction, { accountId: id, ...topUp, at });
      }
      const { name, email, verified, groupId = null } = named;
      await transaction.query(insertAccount, [id, name, email, verified, at, partition, groupId]);
      return id;
    });
  },
});

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
