import type { Lane, Statement } from '../../db/database.ts';
import { type ApiKey, type KeyRow, toApiKey } from './api-key-store.ts';
import { type KeyLimits, LIMITS_OF_L, type LimitsRow, toLimits } from './key-limit-store.ts';
import type { Account, AccountStatus } from './store.ts';

/** The SQL by which operators find keys: by the whole key, of which only a hash is stored, or by what lists show of it. */

/** Plans: primary keys of accounts, key_limits and key_uses. */
const FOUND = `select k.id, k.account_id, k.name, k.prefix, k.created_at, k.expires_at, k.revoked_at, k.id as key_id,
  to_jsonb(k.allowed_models) as allowed_models, to_jsonb(k.allowed_networks) as allowed_networks,
  to_jsonb(k.scopes) as scopes, k.user_id,
  ${LIMITS_OF_L}, u.last_used_at,
  a.name as account_name, a.email, a.verified, a.status, a.status_reason
from api_keys k join accounts a on a.id = k.account_id
left join key_limits l on l.account_id = k.account_id and l.key_id = k.id
left join key_uses u on u.account_id = k.account_id and u.key_id = k.id`;

/** Plan: api_keys_by_hash. */
const findByHash: Statement = {
  name: 'key-search.by-hash',
  text: `${FOUND}
where k.key_hash = $1`,
};

/**
 * Newest first. The character behind all others ends the range. All keys of it are read before they are sorted: a walk of ids
 * backwards would read every key of the database where few begin so. Plan: api_keys_by_prefix.
 */
const findByPrefix: Statement = {
  name: 'key-search.by-prefix',
  text: `with begun as materialized (
  select id from api_keys
  where prefix collate "C" >= $1::text and prefix collate "C" < $1::text || U&'\\+10FFFF' and ($2::text is null or id < $2)
),
page as materialized (select id from begun order by id desc limit $3::int)
${FOUND}
where k.id in (select id from page)
order by k.id desc`,
};

/** A key with all that says whose it is and whether it may be used. */
export interface FoundKey {
  readonly key: ApiKey;
  readonly limits: KeyLimits;
  readonly lastUsedAt: Date | null;
  readonly account: Pick<Account, 'id' | 'name' | 'email' | 'verified' | 'status' | 'statusReason'>;
}

type FoundRow = KeyRow & LimitsRow & OfAccountRow;

interface OfAccountRow {
  last_used_at: Date | null;
  account_name: string;
  email: string | null;
  verified: boolean;
  status: AccountStatus;
  status_reason: string | null;
}

export interface KeySearchStore {
  /** `null` if no key has this hash. */
  findByHash(keyHash: Buffer): Promise<FoundKey | null>;
  /** Keys whose prefix begins with a text, newest first. */
  findByPrefix(prefix: string, beforeId: string | null, limit: number): Promise<FoundKey[]>;
}

export function createKeySearchStore(database: Lane): KeySearchStore {
  return {
    async findByHash(keyHash) {
      const [row] = await database.query<FoundRow>(findByHash, [keyHash]);
      return row === undefined ? null : toFoundKey(row);
    },
    async findByPrefix(prefix, beforeId, limit) {
      return (await database.query<FoundRow>(findByPrefix, [prefix, beforeId, limit])).map(toFoundKey);
    },
  };
}

function toFoundKey(row: FoundRow): FoundKey {
  return {
    key: toApiKey(row),
    limits: toLimits(row),
    lastUsedAt: row.last_used_at,
    account: {
      id: row.account_id,
      name: row.account_name,
      email: row.email,
      verified: row.verified,
      status: row.status,
      statusReason: row.status_reason,
    },
  };
}
