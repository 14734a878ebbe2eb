import type { Queryable, Statement } from '../../db/database.ts';
import { lockAccount } from '../account-lock-store.ts';

/** The SQL of the keys that persons have in an account. */

/** The most keys of one person in an account whose calls, refusals and usage are shown to that person: the newest ones. */
const OWN_KEYS_SHOWN = 500;

/** Plan: api_keys_by_user. */
const selectOwnKeyIds: Statement = {
  name: 'keys.select-own-ids',
  text: `select id from api_keys where account_id = $1 and user_id = $2 order by id desc limit ${OWN_KEYS_SHOWN}`,
};

/** Plan: api_keys_by_user. */
const countUsable: Statement = {
  name: 'keys.count-usable',
  text: `select count(*)::int as keys from api_keys
where account_id = $1 and user_id = $2 and revoked_at is null and (expires_at is null or expires_at > $3)`,
};

/** The ids of the keys of a person, newest first, revoked ones too. */
export async function findOwnKeyIds(
  queryable: Pick<Queryable, 'query'>,
  accountId: string,
  userId: string,
): Promise<string[]> {
  const rows = await queryable.query<{ id: string }>(selectOwnKeyIds, [accountId, userId]);
  return rows.map(({ id }) => id);
}

/** How many keys a person may have at a time. */
export interface OwnKeysLimit {
  readonly userId: string;
  readonly keysMax: number;
}

/** The person would have more keys than it may have. */
export class TooManyKeysError extends Error {}

/**
 * In the transaction that makes a key of the person, before it does.
 *
 * @throws TooManyKeysError
 */
export async function requireRoomForKey(
  transaction: Queryable,
  accountId: string,
  { userId, keysMax }: OwnKeysLimit,
  at: Date,
): Promise<void> {
  // Two requests at a time count one after the other.
  await lockAccount(transaction, accountId);
  const [row] = await transaction.query<{ keys: number }>(countUsable, [accountId, userId, at]);
  if (row!.keys >= keysMax) throw new TooManyKeysError();
}
