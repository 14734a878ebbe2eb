import type { Lane, Statement } from '../../db/database.ts';
import { placeSql } from '../counts/counted-use.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { API_KEY_COLUMNS, type ApiKey, type KeyRow, toApiKey } from './api-key-store.ts';
import { type OwnKeysLimit, requireRoomForKey } from './key-owner-store.ts';
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
returning ${API_KEY_COLUMNS}`,
};

/** By the unique index api_keys_by_id. */
const copyKey: Statement = {
  name: 'keys.copy',
  text: `insert into api_keys (
  account_id, id, name, key_hash, prefix, created_at, expires_at, allowed_models, allowed_networks, scopes, user_id
)
select account_id, $2, name, $3, $4, $5, $6, allowed_models, allowed_networks, scopes, user_id from api_keys where id = $1
returning ${API_KEY_COLUMNS}`,
};

/** Columns of what is used, which the new key goes on with. */
const USED = `day_no, day_began_at, spent_nano, calls, week_no, week_began_at, week_spent_nano, month_no, month_began_at,
  month_spent_nano, total_spent_nano`;

/**
 * With what is used of them: a budget does not begin anew. The records of it name the old key, so the new one says what it had
 * counted before. What is in flight ends at the old key. Plan: primary key.
 */
const copyLimits: Statement = {
  name: 'keys.copy-limits',
  text: `insert into key_limits (
  account_id, key_id, daily_spend_cap_nano, weekly_spend_cap_nano, monthly_spend_cap_nano, total_spend_cap_nano,
  daily_calls_max, concurrency_max, ${USED}, counted_before
)
select account_id, $3, daily_spend_cap_nano, weekly_spend_cap_nano, monthly_spend_cap_nano, total_spend_cap_nano,
  daily_calls_max, concurrency_max, ${USED},
  jsonb_build_object(
    'day', ${placeSql('day_no', 'day_began_at')}, 'spent', spent_nano, 'calls', calls,
    'week', ${placeSql('week_no', 'week_began_at')}, 'weekSpent', week_spent_nano,
    'month', ${placeSql('month_no', 'month_began_at')}, 'monthSpent', month_spent_nano, 'allSpent', total_spent_nano
  )
from key_limits where account_id = $1 and key_id = $2`,
};

/** Plan: primary key. */
const copyRates: Statement = {
  name: 'keys.copy-rates',
  text: `insert into rate_limits (account_id, key_id, model, requests_max, tokens_max)
select account_id, $3, model, requests_max, tokens_max from rate_limits
where account_id = $1 and key_id = $2 and (requests_max is not null or tokens_max is not null)`,
};

interface KeyReplacement {
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

export interface KeyReplacementStore {
  /**
   * Makes a key with the name, limits, allow-lists, scopes and person of another one, and ends that one. `null` where that one is
   * revoked or has expired, or there is none.
   *
   * @throws TooManyKeysError
   */
  replace(replacement: KeyReplacement): Promise<{ readonly key: ApiKey; readonly replaced: ApiKey } | null>;
}

export function createKeyReplacementStore(database: Lane): KeyReplacementStore {
  return {
    replace: ({ accountId, keyId, id, keyHash, prefix, expiresAt, keepOldMs, ownKeys, at }) =>
      database.transaction(async (transaction) => {
        await lockAccount(transaction, accountId);
        const until = new Date(at.getTime() + keepOldMs);
        const [old] = await transaction.query<KeyRow>(endKey, [keyId, at, until, keepOldMs === 0]);
        if (old === undefined) return null;
        await requireRoomForKey(transaction, accountId, ownKeys, at, true);
        const [made] = await transaction.query<KeyRow>(copyKey, [keyId, id, keyHash, prefix, at, expiresAt]);
        await transaction.query(copyLimits, [accountId, keyId, id]);
        await transaction.query(copyRates, [accountId, keyId, id]);
        await announceChange(transaction, accountId);
        return { key: toApiKey(made!), replaced: toApiKey(old) };
      }),
  };
}
