import type { Lane, Statement } from '../../db/database.ts';
import { booleanColumn, dateColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import { KEYS } from './api-key-store.ts';
import { LIMITS } from './key-limit-tables.ts';
import type { AccountStatus } from './store.ts';

/** The SQL by which operators find keys: by the whole key, of which only a hash is stored, or by what lists show of it. */

/** A key `k` with all that says whose it is and whether it may be used. */
const FOUND_KEYS = selection({
  key: KEYS.from('k'),
  limits: LIMITS.from('l'),
  lastUsedAt: orNull(dateColumn('u.last_used_at')),
  account: selection({
    id: textColumn('a.id as id_of_account'),
    name: textColumn('a.name as account_name'),
    email: orNull(textColumn('a.email')),
    verified: booleanColumn('a.verified'),
    status: textColumn<AccountStatus>('a.status'),
    statusReason: orNull(textColumn('a.status_reason')),
  }),
});

export type FoundKey = RowOf<typeof FOUND_KEYS>;

/** Plans: primary keys of accounts, key_limits and key_uses. */
const FOUND = `select ${FOUND_KEYS.list}
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

export interface KeySearchStore {
  /** `null` if no key has this hash. */
  findByHash(keyHash: Buffer): Promise<FoundKey | null>;
  /** Keys whose prefix begins with a text, newest first. */
  findByPrefix(prefix: string, beforeId: string | null, limit: number): Promise<FoundKey[]>;
}

export function createKeySearchStore(database: Lane): KeySearchStore {
  return {
    findByHash: async (keyHash) => FOUND_KEYS.first(await database.query(findByHash, [keyHash])),
    findByPrefix: async (prefix, beforeId, limit) =>
      FOUND_KEYS.all(await database.query(findByPrefix, [prefix, beforeId, limit])),
  };
}
