import { fieldsOf } from '../../db/columns.ts';
import type { Statement, StoredRow } from '../../db/database.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { booleanColumn, dateColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import type { PlacedPools } from '../partitions/placed-pools.ts';
import { mapByPartition } from '../partitions/routes.ts';
import { KEYS } from './api-key-store.ts';
import { LIMITS } from './key-limit-tables.ts';
import type { AccountStatus } from './store.ts';

const FOUND_KEYS = selection({
  key: KEYS.from('k'),
  account: selection({
    id: textColumn('a.id as id_of_account'),
    name: textColumn('a.name as account_name'),
    email: orNull(textColumn('a.email')),
    verified: booleanColumn('a.verified'),
    status: textColumn<AccountStatus>('a.status'),
    statusReason: orNull(textColumn('a.status_reason')),
  }),
});

const USES = selection({
  limits: LIMITS.from('l'),
  lastUsedAt: orNull(dateColumn('u.last_used_at')),
});

export type FoundKey = RowOf<typeof FOUND_KEYS> & RowOf<typeof USES>;

const FOUND = `select ${FOUND_KEYS.list}
from api_keys k join accounts a on a.id = k.account_id`;

const selectUses: Statement = {
  name: 'key-search.select-uses',
  text: `select k.id, ${USES.list}
from unnest($1::text[], $2::text[]) as k (account_id, id)
left join key_limits l on l.account_id = k.account_id and l.key_id = k.id
left join key_uses u on u.account_id = k.account_id and u.key_id = k.id`,
};

/** Uses the index api_keys_by_id. */
const findById: Statement = {
  name: 'key-search.by-id',
  text: `${FOUND}
where k.id = $1`,
};

/** Uses the index api_keys_by_hash. */
const findByHash: Statement = {
  name: 'key-search.by-hash',
  text: `${FOUND}
where k.key_hash = $1`,
};

/**
 * Reads all matching keys before sorting, because a backward scan of ids would read every key if few match. Uses the index
 * api_keys_by_prefix.
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

async function readUses(
  partition: PartitionPool,
  keys: readonly RowOf<typeof FOUND_KEYS>[],
): Promise<Map<string, RowOf<typeof USES>>> {
  const names = fieldsOf(
    keys.map(({ key }) => key),
    'accountId',
    'id',
  );
  const rows = await partition.query<StoredRow & { readonly id: string }>(selectUses, names);
  return new Map(rows.map((row) => [row.id, USES.read(row)]));
}

export type KeySearchStore = ReturnType<typeof createKeySearchStore>;

export function createKeySearchStore({ directory, partitions }: PlacedPools) {
  async function withUses(rows: readonly StoredRow[]): Promise<FoundKey[]> {
    const keys = FOUND_KEYS.all(rows);
    const usesOf = await mapByPartition(partitions, keys, ({ key }) => key.accountId, readUses);
    return keys.map((found) => ({ ...found, ...usesOf.get(found.key.id)! }));
  }

  return {
    findByHash: async (keyHash: Buffer): Promise<FoundKey | null> =>
      (await withUses(await directory.query(findByHash, [keyHash])))[0] ?? null,
    findById: async (id: string): Promise<FoundKey | null> =>
      (await withUses(await directory.query(findById, [id])))[0] ?? null,
    findByPrefix: async (prefix: string, beforeId: string | null, limit: number): Promise<FoundKey[]> =>
      withUses(await directory.query(findByPrefix, [prefix, beforeId, limit])),
  };
}
