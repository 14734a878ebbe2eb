import { type Statement, toArray } from '../../db/database.ts';
import type { PartitionLane } from '../../db/home-lanes.ts';
import { placeSql } from '../counts/counted-use.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { accountIdOf, itself, type Routes, routedByAccount } from '../partitions/routes.ts';
import { type KeyLimitChange, NO_LIMITS, setKeyLimits } from './key-limit-store.ts';
import { KEY_COUNTERS, type KeyLimits, TAKEN_OVER } from './key-limit-tables.ts';
import type { LooseKey } from './loose-key-store.ts';
import { NO_RATE_LIMITS, type RateLimitChange, type RateLimits, setRateLimits } from './rate-limit-store.ts';

/** The SQL of the limits of loose keys (`loose-key-store.ts`): no call has such a key. */

/** SQL: what the old key had counted, as `counted_before` has it. */
const COUNTED_BEFORE = [
  ...['day', 'week', 'month'].map((period) => `'${period}', ${placeSql(`${period}_no`, `${period}_began_at`)}`),
  ...KEY_COUNTERS.map(({ before, column }) => `'${before}', ${column}`),
].join(', ');

/**
 * With what is used of them: a budget does not begin anew. The records of it name the old key, so the new one says what it had
 * counted before. What is in flight ends at the old key. Plan: primary key.
 */
const copyLimits: Statement = {
  name: 'loose-limits.copy',
  text: `insert into key_limits (account_id, key_id, ${TAKEN_OVER.list}, counted_before)
select account_id, $3, ${TAKEN_OVER.list}, jsonb_build_object(${COUNTED_BEFORE})
from key_limits where account_id = $1 and key_id = $2`,
};

/** Plan: primary key. */
const copyRates: Statement = {
  name: 'loose-limits.copy-rates',
  text: `insert into rate_limits (account_id, key_id, model, requests_max, tokens_max)
select account_id, $3, model, requests_max, tokens_max from rate_limits
where account_id = $1 and key_id = $2 and (requests_max is not null or tokens_max is not null)`,
};

/** All that a partition has of keys alone. Plans: primary keys. */
const deleteAll: Statement = {
  name: 'loose-limits.delete',
  text: `with limits as (
  delete from key_limits where account_id = $1 and key_id = any ($2::text[])
), rates as (
  delete from rate_limits where account_id = $1 and key_id = any ($2::text[])
)
delete from key_uses where account_id = $1 and key_id = any ($2::text[])`,
};

/** What a key is made with; what is absent is not limited. */
interface GivenLimits {
  readonly limits?: KeyLimitChange | undefined;
  readonly rates?: RateLimitChange | undefined;
}

export type LooseLimitStore = ReturnType<typeof createLooseLimitStore>;

export function createLooseLimitStore(partition: PartitionLane) {
  return {
    /** Sets the limits of a key that has been begun. */
    set: (
      { accountId, keyId }: LooseKey,
      { limits, rates }: GivenLimits,
    ): Promise<{ readonly limits: KeyLimits; readonly rates: RateLimits }> =>
      partition.transaction(async (transaction) => ({
        limits: limits === undefined ? NO_LIMITS : await setKeyLimits(transaction, accountId, keyId, limits),
        rates: rates === undefined ? NO_RATE_LIMITS : await setRateLimits(transaction, { accountId, keyId }, rates),
      })),
    /** Sets those of a key that takes the place of another one of its account, with what that one has used of them. */
    copy: ({ accountId, keyId }: LooseKey, replacedId: string): Promise<void> =>
      partition.transaction(async (transaction) => {
        await lockAccount(transaction, accountId);
        await transaction.query(copyLimits, [accountId, replacedId, keyId]);
        await transaction.query(copyRates, [accountId, replacedId, keyId]);
      }),
    /** Removes the limits and uses of keys of an account. */
    remove: (accountId: string, keyIds: readonly string[]): Promise<void> =>
      partition.transaction(async (transaction) => {
        await lockAccount(transaction, accountId);
        await transaction.query(deleteAll, [accountId, toArray(keyIds)]);
      }),
  };
}

/** Of all partitions. */
export const routedLooseLimits = (routes: Routes<LooseLimitStore>): LooseLimitStore =>
  routedByAccount(routes, { set: accountIdOf, copy: accountIdOf, remove: itself });
