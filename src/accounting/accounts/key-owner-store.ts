import type { Statement } from '../../db/database.ts';
import type { DirectoryQueryable } from '../../db/home-pools.ts';
import { lockAccountRow } from './account-row-store.ts';

/** Maximum number of keys, newest first, whose calls, refusals and usage a member can see. */
const OWN_KEYS_SHOWN = 500;

/** Uses the index api_keys_by_user. */
const selectOwnKeyIds: Statement = {
  name: 'keys.select-own-ids',
  text: `select id from api_keys where account_id = $1 and user_id = $2 order by id desc limit ${OWN_KEYS_SHOWN}`,
};

export const ACTIVE_KEYS_MAX = 1_000;
/** Maximum number of keys, replacements included, that an account can create per day. Each occupies a row for days. */
export const KEYS_A_DAY_MAX = 1_000;

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

export async function findOwnKeyIds(
  queryable: DirectoryQueryable,
  accountId: string,
  userId: string,
): Promise<string[]> {
  const rows = await queryable.query<{ id: string }>(selectOwnKeyIds, [accountId, userId]);
  return rows.map(({ id }) => id);
}

export interface OwnKeysLimit {
  readonly userId: string;
  readonly keysMax: number;
}

/** A limit on the number of keys. `own`: keys of a user; `active`: usable keys of an account; `made`: keys created in a day. */
export type KeysLimit = 'own' | 'active' | 'made';

export class TooManyKeysError extends Error {
  readonly limit: KeysLimit;

  constructor(limit: KeysLimit) {
    super(`too many keys: ${limit}`);
    this.limit = limit;
  }
}

const selectMembership: Statement = {
  name: 'keys.select-membership',
  text: 'select from memberships where account_id = $1 and user_id = $2',
};

/** Thrown if the owner or the creator of a key is not a member of the account. */
export class NoMemberError extends Error {}

/** Checks that a user is a member, with the account's row locked. The removal of a member also locks it. @throws NoMemberError */
export async function requireMembership(
  transaction: DirectoryQueryable,
  accountId: string,
  userId: string,
): Promise<void> {
  const found = await transaction.query(selectMembership, [accountId, userId]);
  if (found.length === 0) throw new NoMemberError(`${userId} is not a member of ${accountId}`);
}

/**
 * @param replaces an account that exceeds its limit can still replace keys
 * @throws TooManyKeysError
 */
export async function requireCapacityForKey(
  transaction: DirectoryQueryable,
  accountId: string,
  own: OwnKeysLimit | undefined,
  at: Date,
  replaces: boolean,
): Promise<void> {
  await lockAccountRow(transaction, accountId);
  const [row] = await transaction.query<Record<KeysLimit, number>>(countKeys, [accountId, own?.userId ?? null, at]);
  const keys = row!;
  if (own !== undefined && keys.own >= own.keysMax) throw new TooManyKeysError('own');
  if (!replaces && keys.active >= ACTIVE_KEYS_MAX) throw new TooManyKeysError('active');
  if (keys.made >= KEYS_A_DAY_MAX) throw new TooManyKeysError('made');
}
