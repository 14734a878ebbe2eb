import type { Statement } from '../../db/database.ts';
import { placeSql } from '../counts/counted-use.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import type { PlacedPools } from '../partitions/placed-pools.ts';
import { lockAccountRow } from './account-row-store.ts';
import { type ApiKey, KEYS } from './api-key-store.ts';
import { budgetId } from './budget-ids.ts';
import { KEY_COUNTERS, TAKEN_OVER } from './key-limit-tables.ts';
import { type OwnKeysLimit, requireCapacityForKey, requireMembership } from './key-owner-store.ts';
import { announceChange } from './principal-change-store.ts';

/** Ends the replaced key at a new expiry, but not after its own. Without any time left, it is revoked, because node clocks differ. */
const endKey: Statement = {
  name: 'keys.end-replaced',
  text: `update api_keys set
  expires_at = case when $4::boolean then expires_at else least(expires_at, $3::timestamptz) end,
  revoked_at = case when $4::boolean then $2::timestamptz end
where id = $1 and revoked_at is null and (expires_at is null or expires_at > $2::timestamptz)
returning ${KEYS.list}`,
};

const copyKey: Statement = {
  name: 'keys.copy',
  text: `insert into api_keys (
  account_id, id, name, key_hash, prefix, created_at, expires_at, allowed_models, allowed_networks, scopes, user_id, former_user_name
)
select account_id, $2, name, $3, $4, $5, $6, allowed_models, allowed_networks, scopes, user_id, former_user_name
from api_keys where id = $1
returning ${KEYS.list}`,
};

/** SQL: the counters of the old key in the format of `counted_before`. */
const COUNTED_BEFORE = [
  ...['day', 'week', 'month'].map((period) => `'${period}', ${placeSql(`${period}_no`, `${period}_began_at`)}`),
  ...KEY_COUNTERS.map(({ before, column }) => `'${before}', ${column}`),
].join(', ');

/**
 * Reads the counters of the old key and of its budgets for models. Separate, because Citus does not allow this function in a statement that
 * inserts what it reads. Uses the primary key and key_limits_by_owner.
 */
const selectCounted: Statement = {
  name: 'keys.select-counted',
  text: `select key_id, model, jsonb_build_object(${COUNTED_BEFORE})::text as counted from key_limits
where account_id = $1 and (key_id = $2 or owner_id = $2)`,
};

/** Copies limits and counters to the new key. Call records of earlier use name the old key, so the copy stores this as `counted_before`. */
const copyLimits: Statement = {
  name: 'keys.copy-limits',
  text: `insert into key_limits (account_id, key_id, owner_id, model, ${TAKEN_OVER.list}, counted_before)
select account_id, $3, $4, model, ${TAKEN_OVER.list}, $5::jsonb
from key_limits where account_id = $1 and key_id = $2`,
};

const copyRates: Statement = {
  name: 'keys.copy-rates',
  text: `insert into rate_limits (account_id, key_id, model, requests_max, tokens_max)
select account_id, $3, model, requests_max, tokens_max from rate_limits
where account_id = $1 and key_id = $2 and (requests_max is not null or tokens_max is not null)`,
};

interface LimitRow {
  readonly key_id: string;
  readonly model: string | null;
  readonly counted: string;
}

export interface KeyReplacement {
  readonly accountId: string;
  readonly keyId: string;
  readonly id: string;
  readonly keyHash: Buffer;
  readonly prefix: string;
  /** When the new key expires; `null`: never. */
  readonly expiresAt: Date | null;
  /** How long the old key stays valid, in milliseconds. */
  readonly keepOldMs: number;
  readonly ownKeys?: OwnKeysLimit | undefined;
  readonly at: Date;
}

export type KeyReplacementStore = ReturnType<typeof createKeyReplacementStore>;

export function createKeyReplacementStore({ partitions }: Pick<PlacedPools, 'partitions'>) {
  return {
    /** Replaces a key. Returns `null` if it does not exist, is revoked or has expired. @throws TooManyKeysError, NoMemberError */
    async replace(replacement: KeyReplacement): Promise<{ readonly key: ApiKey; readonly replaced: ApiKey } | null> {
      const { accountId, keyId, id, keyHash, prefix, expiresAt, keepOldMs, ownKeys, at } = replacement;
      const until = new Date(at.getTime() + keepOldMs);
      const pool = await partitions.of(accountId);
      return pool.transactionWithDirectory(async (transaction) => {
        await lockAccount(transaction, accountId);
        await lockAccountRow(transaction, accountId);
        const replaced = KEYS.first(await transaction.query(endKey, [keyId, at, until, keepOldMs === 0]));
        if (replaced === null) return null;
        await requireCapacityForKey(transaction, accountId, ownKeys, at, true);
        // Users must be members to replace their own keys. Owners and operators can also replace keys of users who have left.
        if (ownKeys !== undefined) await requireMembership(transaction, accountId, ownKeys.userId);
        const key = KEYS.first(await transaction.query(copyKey, [keyId, id, keyHash, prefix, at, expiresAt]));
        for (const { key_id, model, counted } of await transaction.query<LimitRow>(selectCounted, [accountId, keyId])) {
          const [newId, ownerId] = model === null ? [id, null] : [budgetId(id, model), id];
          await transaction.query(copyLimits, [accountId, key_id, newId, ownerId, counted]);
        }
        await transaction.query(copyRates, [accountId, keyId, id]);
        await announceChange(transaction, accountId);
        return { key: key!, replaced };
      });
    },
  };
}
