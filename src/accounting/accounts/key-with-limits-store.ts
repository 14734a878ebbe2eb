import type { Statement } from '../../db/database.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { queueAccountChange } from '../ledger/changed-account-store.ts';
import type { PlacedPools } from '../partitions/placed-pools.ts';
import type { AllowListChange } from './allow-lists.ts';
import { type ApiKey, arrayOrNull, KEYS, makeKey, type NewKey } from './api-key-store.ts';
import { type KeyLimitChange, NO_LIMITS, setKeyLimits } from './key-limit-store.ts';
import type { KeyLimits } from './key-limit-tables.ts';
import { type ModelBudgetChange, type ModelBudgets, NO_MODEL_BUDGETS, setModelBudgets } from './model-budget-store.ts';
import { announceChange } from './principal-change-store.ts';
import { NO_RATE_LIMITS, orTooMany, type RateLimitChange, type RateLimits, setRateLimits } from './rate-limit-store.ts';

/** Updates a key in the directory. The same transaction changes its limits in the account's partition. */

const updateKey: Statement = {
  name: 'keys.update',
  text: `update api_keys set
  allowed_models = case when $2::boolean then $3::text[] else allowed_models end,
  allowed_networks = case when $4::boolean then $5::text[] else allowed_networks end,
  name = coalesce($6::text, name)
where id = $1
returning ${KEYS.list}`,
};

interface LimitChange {
  readonly limits?: KeyLimitChange | undefined;
  readonly rates?: RateLimitChange | undefined;
  readonly budgets?: readonly ModelBudgetChange[] | undefined;
}

export interface KeyChange extends LimitChange {
  readonly allowed?: AllowListChange | undefined;
  readonly name?: string | undefined;
}

export interface KeyWithLimits {
  readonly key: ApiKey;
  readonly limits: KeyLimits;
  readonly rates: RateLimits;
  readonly budgets: ModelBudgets;
}

export type KeyWithLimitsStore = ReturnType<typeof createKeyWithLimitsStore>;

export function createKeyWithLimitsStore({ partitions }: Pick<PlacedPools, 'partitions'>) {
  return {
    async insert(key: NewKey, { limits, rates, budgets = [] }: LimitChange): Promise<KeyWithLimits> {
      const { accountId, id: keyId } = key;
      const pool = await partitions.of(accountId);
      return pool.transactionWithDirectory(async (transaction) => {
        // This lock must be taken before `makeKey` locks the account's row in the directory.
        await lockAccount(transaction, accountId);
        return {
          key: await makeKey(transaction, key),
          limits: limits === undefined ? NO_LIMITS : await setKeyLimits(transaction, accountId, keyId, limits),
          rates: rates === undefined ? NO_RATE_LIMITS : await setRateLimits(transaction, { accountId, keyId }, rates),
          budgets:
            budgets.length === 0
              ? NO_MODEL_BUDGETS
              : await setModelBudgets(transaction, { accountId, ownerId: keyId }, budgets),
        };
      });
    },
    /**
     * Changes a key. Returns `null` if it does not exist; `too_many` if its rate limits would name too many models.
     * @throws TooManyBudgetsError
     */
    async change(
      { accountId, id: keyId }: Pick<ApiKey, 'accountId' | 'id'>,
      { limits, rates, budgets = [], allowed = {}, name }: KeyChange,
    ): Promise<ApiKey | 'too_many' | null> {
      const pool = await partitions.of(accountId);
      const changed = pool.transactionWithDirectory(async (transaction) => {
        // Locks the account, as the deletion of keys does, so that the key still exists when its limits are set.
        const isLimited = limits !== undefined || rates !== undefined || budgets.length > 0;
        if (isLimited) await lockAccount(transaction, accountId);
        const { models, networks } = allowed;
        const values = [models !== undefined, arrayOrNull(models), networks !== undefined, arrayOrNull(networks)];
        const key = KEYS.first(await transaction.query(updateKey, [keyId, ...values, name ?? null]));
        if (key === null) return null;
        if (rates !== undefined) await setRateLimits(transaction, { accountId, keyId }, rates);
        if (limits !== undefined) await setKeyLimits(transaction, accountId, keyId, limits);
        if (isLimited) await queueAccountChange(transaction, accountId);
        if (budgets.length > 0) await setModelBudgets(transaction, { accountId, ownerId: keyId }, budgets);
        await announceChange(transaction, accountId);
        return key;
      });
      return orTooMany(changed);
    },
  };
}
