import { columnsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import type { PartitionLane } from '../../db/home-lanes.ts';
import { booleanColumn, type RowOf, selection } from '../../db/table.ts';
import { IS_LIMITED } from './key-limit-store.ts';
import { IS_RATE_LIMITED } from './rate-limit-store.ts';

const LIMITED = selection({
  isKeyLimited: booleanColumn(`${IS_LIMITED} as is_limited`),
  /** Whether the account or the key has limits by the minute of its own. */
  isRateLimited: booleanColumn(`${IS_RATE_LIMITED} as is_rate_limited`),
});

/** Which kinds of limits a key has. */
export type KeyLimitation = RowOf<typeof LIMITED>;

/** Those of many keys, in their order. Plans: primary keys. */
const selectLimited: Statement = {
  name: 'accounts.select-limited',
  text: `select ${LIMITED.list}
from unnest($1::text[], $2::text[]) with ordinality as k (account_id, id, position)
left join key_limits l on l.account_id = k.account_id and l.key_id = k.id
order by k.position`,
};

/** What its partition says of a key. */
export interface LimitedKeyStore {
  /** One a key, in their order. Whoever caches it is told of every change. */
  find(
    keys: readonly { readonly accountId: string; readonly keyId: string }[],
    signal?: AbortSignal,
  ): Promise<readonly KeyLimitation[]>;
}

export const createLimitedKeyStore = (partition: PartitionLane): LimitedKeyStore => ({
  async find(keys, signal) {
    const names = columnsOf(
      keys,
      ({ accountId }) => accountId,
      ({ keyId }) => keyId,
    );
    return LIMITED.all(await partition.query(selectLimited, names, signal));
  },
});
