import type { Statement } from '../../db/database.ts';
import type { DirectoryLane } from '../../db/home-lanes.ts';
import { lockAccountRow } from './account-row-store.ts';
import { type ApiKey, KEYS } from './api-key-store.ts';
import { type OwnKeysLimit, requireMembership, requireRoomForKey } from './key-owner-store.ts';
import { takeBegun } from './loose-key-store.ts';
import { announceChange } from './principal-change-store.ts';

/** The SQL by which a key is replaced by another one that may do the same. */

/**
 * The end of the old key, which is never later than it was. Without time left it is revoked, because clocks of nodes differ. By the
 * unique index api_keys_by_id.
 */
const endKey: Statement = {
  name: 'keys.end-replaced',
  text: `update api_keys set
  expires_at = case when $4::boolean then expires_at else least(expires_at, $3::timestamptz) end,
  revoked_at = case when $4::boolean then $2::timestamptz end
where id = $1 and revoked_at is null and (expires_at is null or expires_at > $2::timestamptz)
returning ${KEYS.list}`,
};

/** By the unique index api_keys_by_id. */
const copyKey: Statement = {
  name: 'keys.copy',
  text: `insert into api_keys (
  account_id, id, name, key_hash, prefix, created_at, expires_at, allowed_models, allowed_networks, scopes, user_id, former_user_name
)
select account_id, $2, name, $3, $4, $5, $6, allowed_models, allowed_networks, scopes, user_id, former_user_name
from api_keys where id = $1
returning ${KEYS.list}`,
};

export interface KeyReplacement {
  readonly accountId: string;
  /** The key that is replaced. */
  readonly keyId: string;
  readonly id: string;
  readonly keyHash: Buffer;
  readonly prefix: string;
  /** Of the new key. */
  readonly expiresAt: Date | null;
  /** How long the old key is valid still. */
  readonly keepOldMs: number;
  /** Absent: no limit. */
  readonly ownKeys?: OwnKeysLimit | undefined;
  readonly at: Date;
}

export type KeyReplacementStore = ReturnType<typeof createKeyReplacementStore>;

export function createKeyReplacementStore(database: DirectoryLane) {
  return {
    /**
     * Makes a key with the name, allow-lists, scopes and person of another one, also the former one, and ends that one. It has been begun,
     * and has the limits of that one already (`loose-keys.ts`). `null` where that one is revoked or has expired, or there is none.
     *
     * @throws TooManyKeysError, NoMemberError, OverdueKeyError
     */
    replace: (replacement: KeyReplacement): Promise<{ readonly key: ApiKey; readonly replaced: ApiKey } | null> =>
      database.transaction(async (transaction) => {
        const { accountId, keyId, id, keyHash, prefix, expiresAt, keepOldMs, ownKeys, at } = replacement;
        const until = new Date(at.getTime() + keepOldMs);
        await lockAccountRow(transaction, accountId);
        const replaced = KEYS.first(await transaction.query(endKey, [keyId, at, until, keepOldMs === 0]));
        if (replaced === null) return null;
        await requireRoomForKey(transaction, accountId, ownKeys, at, true);
        // Keys whose person has left are replaced by owners and operators.
        if (ownKeys !== undefined) await requireMembership(transaction, accountId, ownKeys.userId);
        await takeBegun(transaction, accountId, id);
        const key = KEYS.first(await transaction.query(copyKey, [keyId, id, keyHash, prefix, at, expiresAt]));
        await announceChange(transaction, accountId);
        return { key: key!, replaced };
      }),
  };
}
