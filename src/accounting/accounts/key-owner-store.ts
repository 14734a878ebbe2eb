import type { Statement } from '../../db/database.ts';
import type { DirectoryQueryable } from '../../db/home-lanes.ts';
import { lockAccountRow } from './account-row-store.ts';

/** The SQL of the keys that persons have in an account. */

/** The most keys of one person in an account whose calls, refusals and usage are shown to that person: the newest ones. */
const OWN_KEYS_SHOWN = 500;

/** Plan: api_keys_by_user. */
const selectOwnKeyIds: Statement = {
  name: 'keys.select-own-ids',
  text: `select id from api_keys where account_id = $1 and user_id = $2 order by id desc limit ${OWN_KEYS_SHOWN}`,
};

/** Keys of an account that can be used. */
export const ACTIVE_KEYS_MAX = 1_000;
/** Keys of an account that are made in a day, those that replace others too: each leaves a row (`ended-key-store.ts`). */
export const KEYS_A_DAY_MAX = 1_000;

/** Plan: primary key, of one account. */
const countKeys: Statement = {
  name: 'keys.count',
  text: `select count(*) filter (where is_active)::int as active,
  count(*) filter (where is_active and user_id = $2::text)::int as own,
  count(*) filter (where created_at > $3::timestamptz - interval '1 day')::int as made
from (
  select user_id, created_at,
    revoked_at is null and (expires_at is null or expires_at > $3::timestamptz) as is_active
  from api_keys where account_id = $1
) k`,
};

/** The ids of the keys of a person, newest first, revoked ones too. */
export async function findOwnKeyIds(
  queryable: DirectoryQueryable,
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

/** Which limit a further key would be beyond: of the person, of the account, or of a day. */
export type KeysLimit = 'own' | 'active' | 'made';

/** There would be more keys than there may be. */
export class TooManyKeysError extends Error {
  readonly limit: KeysLimit;

  constructor(limit: KeysLimit) {
    super(`too many keys: ${limit}`);
    this.limit = limit;
  }
}

/** By primary key. */
const selectMembership: Statement = {
  name: 'keys.select-membership',
  text: 'select from memberships where account_id = $1 and user_id = $2',
};

/** Whoever would have the key, or makes it, does not belong to the account, or no more. */
export class NoMemberError extends Error {}

/**
 * In the transaction that makes a key, while it has the lock of the account. Whoever removes a member has that lock too, so a key is there
 * before the removal, which looks for the keys of the person, or is not made.
 *
 * @throws NoMemberError
 */
export async function requireMembership(
  transaction: DirectoryQueryable,
  accountId: string,
  userId: string,
): Promise<void> {
  const found = await transaction.query(selectMembership, [accountId, userId]);
  if (found.length === 0) throw new NoMemberError(`${userId} is no member of ${accountId}`);
}

/**
 * In the transaction that makes a key, before it does. `own`: if a person makes it. `replaces`: it takes the place of another
 * one, so that an account with more keys than it may have can still change them.
 *
 * @throws TooManyKeysError
 */
export async function requireRoomForKey(
  transaction: DirectoryQueryable,
  accountId: string,
  own: OwnKeysLimit | undefined,
  at: Date,
  replaces: boolean,
): Promise<void> {
  // Two requests at a time count one after the other.
  await lockAccountRow(transaction, accountId);
  const [row] = await transaction.query<Record<KeysLimit, number>>(countKeys, [accountId, own?.userId ?? null, at]);
  const keys = row!;
  if (own !== undefined && keys.own >= own.keysMax) throw new TooManyKeysError('own');
  if (!replaces && keys.active >= ACTIVE_KEYS_MAX) throw new TooManyKeysError('active');
  if (keys.made >= KEYS_A_DAY_MAX) throw new TooManyKeysError('made');
}
