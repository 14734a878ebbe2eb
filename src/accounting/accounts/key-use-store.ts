import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { instantColumn, type RowOf, tableColumns, textColumn } from '../../db/table.ts';
import { accountIdOf, askedByPartition, mapByPartition, type Routes } from '../partitions/routes.ts';

const USES = tableColumns({
  accountId: textColumn('account_id'),
  keyId: textColumn('key_id'),
  usedAtMs: instantColumn('used_at'),
});
export type KeyUse = RowOf<typeof USES>;

/** Records the last use of keys, in the order of the primary key, so that nodes that write the same keys do not deadlock. */
const recordUses: Statement = {
  name: 'key-uses.record',
  text: `insert into key_uses as k (account_id, key_id, last_used_at)
select ${USES.list} from ${USES.rows.as('v')}
order by account_id, key_id
on conflict (account_id, key_id) do update set last_used_at = greatest(k.last_used_at, excluded.last_used_at)`,
};

const findUses: Statement = {
  name: 'key-uses.find',
  text: `select k.key_id, k.last_used_at from unnest($1::text[], $2::text[]) as v (account_id, key_id)
join key_uses k on k.account_id = v.account_id and k.key_id = v.key_id`,
};

export type KeyUseStore = ReturnType<typeof createKeyUseStore>;

export function createKeyUseStore(database: PartitionPool) {
  return {
    async record(uses: readonly KeyUse[]): Promise<void> {
      await database.query(recordUses, [USES.rows.parameter(uses)]);
    },
    /** Returns the last use of keys by key id. Keys that were never used are absent. */
    async find(
      keys: readonly { readonly accountId: string; readonly id: string }[],
    ): Promise<ReadonlyMap<string, Date>> {
      if (keys.length === 0) return new Map();
      const names = fieldsOf(keys, 'accountId', 'id');
      const rows = await database.query<{ key_id: string; last_used_at: Date }>(findUses, names);
      return new Map(rows.map((row) => [row.key_id, row.last_used_at]));
    },
  };
}

export function routedKeyUses(routes: Routes<KeyUseStore>): KeyUseStore {
  return {
    async record(uses) {
      await askedByPartition(routes, uses, accountIdOf, (store, those) => store.record(those));
    },
    find: (keys) => mapByPartition(routes, keys, accountIdOf, (store, those) => store.find(those)),
  };
}
