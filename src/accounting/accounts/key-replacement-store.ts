import type { Statement } from '../../db/database.ts';
import { placeSql } from '../counts/counted-use.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import type { PlacedLanes } from '../partitions/placed-lanes.ts';
import { lockAccountRow } from './account-row-store.ts';
import { type ApiKey, KEYS } from './api-key-store.ts';
import { KEY_COUNTERS, TAKEN_OVER } from './key-limit-tables.ts';
import { type OwnKeysLimit, requireMembership, requireRoomForKey } from './key-owner-store.ts';
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

/** SQL: what the old key had counted, as `counted_before` has it. */
const COUNTED_BEFORE = [
  ...['day', 'week', 'month'].map((period) => `'${period}', ${placeSql(`${period}_no`, `${period}_began_at`)}`),
  ...KEY_COUNTERS.map(({ before, column }) => `'${before}', ${column}`),
].join(', ');

/** Read by itself: on Citus no statement that inserts what it reads may have such a function. Plan: primary key. */
const selectCounted: Statement = {
  name: 'keys.select-counted',
  text: `select jsonb_build_object(${COUNTED_BEFORE})::text as counted from key_limits where account_id = $1 and key_id = $2`,
};

/**
 * With what is used of them: a budget does not begin anew. The records of it name the old key, so the new one says what it had
 * counted before. What is in flight ends at the old key. Plan: primary key.
 */
const copyLimits: Statement = {
  name: 'keys.copy-limits',
  text: `insert into key_limits (account_id, key_id, ${TAKEN_OVER.list}, counted_before)
select account_id, $3, ${TAKEN_OVER.list}, $4::jsonb
from key_limits where account_id = $1 and key_id = $2`,
};

/** Plan: primary key. */
const copyRates: Statement = {
  name: 'keys.copy-rates',
  text: `insert into rate_limits (account_id, key_id, model, requests_max, tokens_max)
select account_id, $3, model, requests_max, tokens_max from rate_limits
where account_id = $1 and key_id = $2 and (requests_max is not null or tokens_max is not null)`,
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

export function createKeyReplacementStore({ partitions }: Pick<PlacedLanes, 'partitions'>) {
  return {
    /**
     * Makes a key with the name, allow-lists, scopes and person of another one, also the former one, and with its limits and what is used of
     * them, and ends that one. `null` where that one is revoked or has expired, or there is none.
     *
     * @throws TooManyKeysError, NoMemberError
     */
    async replace(replacement: KeyReplacement): Promise<{ readonly key: ApiKey; readonly replaced: ApiKey } | null> {
      const { accountId, keyId, id, keyHash, prefix, expiresAt, keepOldMs, ownKeys, at } = replacement;
      const until = new Date(at.getTime() + keepOldMs);
      const lane = await partitions.of(accountId);
      return lane.transactionWithDirectory(async (transaction) => {
        await lockAccount(transaction, accountId);
        await lockAccountRow(transaction, accountId);
        const replaced = KEYS.first(await transaction.query(endKey, [keyId, at, until, keepOldMs === 0]));
        if (replaced === null) return null;
        await requireRoomForKey(transaction, accountId, ownKeys, at, true);
        // Keys whose person has left are replaced by owners and operators.
        if (ownKeys !== undefined) await requireMembership(transaction, accountId, ownKeys.userId);
        const key = KEYS.first(await transaction.query(copyKey, [keyId, id, keyHash, prefix, at, expiresAt]));
        const [limits] = await transaction.query<{ counted: string }>(selectCounted, [accountId, keyId]);
        if (limits !== undefined) await transaction.query(copyLimits, [accountId, keyId, id, limits.counted]);
        await transaction.query(copyRates, [accountId, keyId, id]);
        await announceChange(transaction, accountId);
        return { key: key!, replaced };
      });
    },
  };
}
