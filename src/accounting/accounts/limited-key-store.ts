import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { booleanColumn, jsonbColumn, listColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import { CALLER_KINDS_SQL } from './caller-budget-ids.ts';
import { IS_LIMITED } from './key-limit-store.ts';
import { LIMITS, MODEL_BUDGET } from './key-limit-tables.ts';
import { IS_RATE_LIMITED } from './rate-limit-store.ts';

/** Returns SQL for the models for which an owner has budgets. Uses key_limits_by_owner. */
const budgetedModels = (ownerId: string): string => `(
    select jsonb_agg(b.model) from key_limits b
    where b.account_id = k.account_id and b.owner_id = ${ownerId} and coalesce(${MODEL_BUDGET.of('b')}) is not null
  )`;

/** SQL: the budgets of end users and tags that the account has set. Uses key_limits_by_owner. */
const CALLER_BUDGETS = `(
    select jsonb_agg(b.key_id) from key_limits b
    where b.account_id = k.account_id and b.owner_id in (${CALLER_KINDS_SQL}) and coalesce(${MODEL_BUDGET.of('b')}) is not null
  )`;

const LIMITED = selection({
  isKeyLimited: booleanColumn(`${IS_LIMITED} as is_limited`),
  isRateLimited: booleanColumn(`${IS_RATE_LIMITED} as is_rate_limited`),
  /** The user who owns the key, if the account limits this member; otherwise `null`. */
  memberId: orNull(textColumn(`case when coalesce(${LIMITS.of('m')}) is not null then k.user_id end as member_id`)),
  /** The models that the member may use; `null`: every model. */
  memberModels: selection({ allowedModels: orNull(listColumn('allowed_models')) })
    .from('m')
    .to(({ allowedModels }) => allowedModels),
  /** The models for which the key, or its owner, has budgets; `null`: none. */
  keyBudgets: orNull(jsonbColumn<readonly string[]>(`${budgetedModels('k.id')} as key_budgets`)),
  memberBudgets: orNull(jsonbColumn<readonly string[]>(`${budgetedModels('k.user_id')} as member_budgets`)),
  /** `null`: none. */
  callerBudgets: orNull(jsonbColumn<readonly string[]>(`${CALLER_BUDGETS} as caller_budgets`)),
});

export type KeyLimitation = RowOf<typeof LIMITED>;

/** Selects the limits of keys, in the order of the given keys. Uses primary keys and key_limits_by_owner. */
const selectLimited: Statement = {
  name: 'accounts.select-limited',
  text: `select ${LIMITED.list}
from unnest($1::text[], $2::text[], $3::text[]) with ordinality as k (account_id, id, user_id, position)
left join key_limits l on l.account_id = k.account_id and l.key_id = k.id
left join key_limits m on m.account_id = k.account_id and m.key_id = k.user_id
order by k.position`,
};

export interface LookedUpKey {
  readonly accountId: string;
  readonly keyId: string;
  readonly userId: string | null;
}

export type LimitedKeyStore = ReturnType<typeof createLimitedKeyStore>;

export const createLimitedKeyStore = (partition: PartitionPool) => ({
  /** Returns limits in the order of the given keys. They can be cached, because every change notifies the nodes. */
  async find(keys: readonly LookedUpKey[], signal?: AbortSignal): Promise<readonly KeyLimitation[]> {
    const names = fieldsOf(keys, 'accountId', 'keyId', 'userId');
    return LIMITED.all(await partition.query(selectLimited, names, signal));
  },
});
