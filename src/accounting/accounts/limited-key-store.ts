import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import type { PartitionLane } from '../../db/home-lanes.ts';
import { booleanColumn, listColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import { IS_LIMITED } from './key-limit-store.ts';
import { LIMITS } from './key-limit-tables.ts';
import { IS_RATE_LIMITED } from './rate-limit-store.ts';

const LIMITED = selection({
  isKeyLimited: booleanColumn(`${IS_LIMITED} as is_limited`),
  /** Whether the account or the key has limits by the minute of its own. */
  isRateLimited: booleanColumn(`${IS_RATE_LIMITED} as is_rate_limited`),
  /** The person whose key it is, if what that person may use is limited. */
  memberId: orNull(textColumn(`case when coalesce(${LIMITS.of('m')}) is not null then k.user_id end as member_id`)),
  /** The models that the person may use; `null`: every model. */
  memberModels: selection({ allowedModels: orNull(listColumn('allowed_models')) })
    .from('m')
    .to(({ allowedModels }) => allowedModels),
});

/** Which kinds of limits a key has, and the person whose key it is. */
export type KeyLimitation = RowOf<typeof LIMITED>;

/** Those of many keys, in their order. Plans: primary keys. */
const selectLimited: Statement = {
  name: 'accounts.select-limited',
  text: `select ${LIMITED.list}
from unnest($1::text[], $2::text[], $3::text[]) with ordinality as k (account_id, id, user_id, position)
left join key_limits l on l.account_id = k.account_id and l.key_id = k.id
left join key_limits m on m.account_id = k.account_id and m.key_id = k.user_id
order by k.position`,
};

/** A key whose limits are looked for. */
export interface LookedUpKey {
  readonly accountId: string;
  readonly keyId: string;
  /** The person whose key it is; `null`: the account's. */
  readonly userId: string | null;
}

export type LimitedKeyStore = ReturnType<typeof createLimitedKeyStore>;

/** What its partition says of a key. */
export const createLimitedKeyStore = (partition: PartitionLane) => ({
  /** One a key, in their order. Whoever caches it is told of every change. */
  async find(keys: readonly LookedUpKey[], signal?: AbortSignal): Promise<readonly KeyLimitation[]> {
    const names = fieldsOf(keys, 'accountId', 'keyId', 'userId');
    return LIMITED.all(await partition.query(selectLimited, names, signal));
  },
});
