import type { Statement } from '../../db/database.ts';
import type { DirectoryQueryable } from '../../db/home-lanes.ts';

/** The SQL of the idempotency keys with which accounts are created. */

/** A request with the same key returns the first account instead of making another; with anything else it is a conflict. */
export interface KeyedAccountRequest {
  readonly idempotencyKey: string;
  /** What is asked for. */
  readonly request: string;
}

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

/**
 * Takes a key for an account in the transaction that begins it: `null`, and the account is to be begun. Else the account
 * that was begun with the key, which may be under way, or `key_conflict` if that was asked for otherwise.
 */
export async function takeAccountKey(
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
