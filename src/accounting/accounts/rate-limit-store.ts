import { columnsOf } from '../../db/columns.ts';
import { type Statement, toArray } from '../../db/database.ts';
import type { PartitionPool, PartitionQueryable } from '../../db/home-pools.ts';
import { countColumn, orNull, type RowOf, selection, tableColumns, textColumn } from '../../db/table.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { accountIdOf, itself, mapByPartition, type Routes, routedByAccount } from '../partitions/routes.ts';
import { announceChange } from './principal-change-store.ts';

/** This file stores limits per minute that users set. `accounting/reservations/` counts their use. */

const MAXIMA = tableColumns({
  requestsMax: orNull(countColumn('requests_max')),
  tokensMax: orNull(countColumn('tokens_max')),
});

/** Limits per minute; `null`: unlimited. */
export type RateMaxima = RowOf<typeof MAXIMA>;

const PLACED = selection({
  accountId: textColumn('account_id'),
  keyId: textColumn('key_id'),
  model: textColumn('model'),
  maxima: MAXIMA,
});

/** Limits per minute of an account or a key. The inherited members apply to all models together. */
export interface RateLimits extends RateMaxima {
  /** Separate limits of single models, by canonical model id. */
  readonly models: ReadonlyMap<string, RateMaxima>;
}

export const NO_RATE_LIMITS: RateLimits = { requestsMax: null, tokensMax: null, models: new Map() };

export type MaximaChange = { readonly [Name in keyof RateMaxima]?: RateMaxima[Name] | undefined };

export interface RateLimitChange extends MaximaChange {
  readonly models?: ReadonlyMap<string, MaximaChange> | undefined;
}

/** Maximum number of models with separate limits. A call might read a row for each model. */
export const RATE_LIMITED_MODELS_MAX = 100;

interface RateOwner {
  readonly accountId: string;
  /** `null`: the limits belong to the account. */
  readonly keyId: string | null;
}

/** SQL: whether a key `k` or its account has limits per minute of its own. */
export const IS_RATE_LIMITED = `exists (
    select from rate_limits r where r.account_id = k.account_id and r.key_id in ('', k.id)
      and (r.requests_max is not null or r.tokens_max is not null)
  )`;

const changeLimits: Statement = {
  name: 'rate-limits.change',
  text: `insert into rate_limits (account_id, key_id, model, requests_max, tokens_max)
select $1::text, $2::text, v.model, case when v.sets_requests then v.requests_max else l.requests_max end,
  case when v.sets_tokens then v.tokens_max else l.tokens_max end
from unnest($3::text[], $4::bigint[], $5::boolean[], $6::bigint[], $7::boolean[])
  as v (model, requests_max, sets_requests, tokens_max, sets_tokens)
left join rate_limits l on l.account_id = $1 and l.key_id = $2 and l.model = v.model
on conflict (account_id, key_id, model) do update
  set requests_max = excluded.requests_max, tokens_max = excluded.tokens_max`,
};

/** Deletes rows without limits, except those that count use: they may be buckets for a configured limit or for an alias of a model. */
const deleteEmpty: Statement = {
  name: 'rate-limits.delete-empty',
  text: `delete from rate_limits
where account_id = $1 and key_id = $2 and requests_max is null and tokens_max is null
  and requests_used = 0 and tokens_used = 0`,
};

const selectLimits: Statement = {
  name: 'rate-limits.select',
  text: `select ${PLACED.list} from rate_limits
where account_id = any ($1::text[]) and key_id = any ($2::text[]) and (requests_max is not null or tokens_max is not null)
order by model`,
};

export type RateLimitStore = ReturnType<typeof createRateLimitStore>;

export function createRateLimitStore(database: PartitionPool) {
  return {
    /** Changes limits and returns all of them; `too_many`: nothing was changed. After a change, nodes drop the account's cached keys. */
    change: (owner: RateOwner, change: RateLimitChange): Promise<RateLimits | 'too_many'> =>
      orTooMany(
        database.transaction(async (transaction) => {
          const limits = await setRateLimits(transaction, owner, change);
          await announceChange(transaction, owner.accountId);
          return limits;
        }),
      ),
    /** Returns limits by account id. Accounts without limits are absent. */
    ofAccounts: (accountIds: readonly string[]): Promise<ReadonlyMap<string, RateLimits>> =>
      readLimits(database, accountIds, [''], (row) => row.accountId),
    /** Returns limits by key id. Keys without limits are absent. */
    ofKeys(
      keys: readonly { readonly accountId: string; readonly id: string }[],
    ): Promise<ReadonlyMap<string, RateLimits>> {
      const accountIds = [...new Set(keys.map(({ accountId }) => accountId))];
      const keyIds = keys.map(({ id }) => id);
      return readLimits(database, accountIds, keyIds, (row) => row.keyId);
    },
  };
}

class TooManyModelsError extends Error {}

export const orTooMany = <Result>(transaction: Promise<Result>): Promise<Result | 'too_many'> =>
  transaction.catch((error: unknown) => {
    if (error instanceof TooManyModelsError) return 'too_many';
    throw error;
  });

/** @throws TooManyModelsError, or Error if the account does not exist */
export async function setRateLimits(
  transaction: PartitionQueryable,
  { accountId, keyId }: RateOwner,
  change: RateLimitChange,
): Promise<RateLimits> {
  const own = keyId ?? '';
  const { models = new Map<string, MaximaChange>(), ...ofAll } = change;
  const changes = [['', ofAll] as const, ...models];
  if (!(await lockAccount(transaction, accountId))) throw new Error(`account ${accountId} does not exist`);
  await transaction.query(changeLimits, [
    accountId,
    own,
    ...columnsOf(
      changes,
      ([model]) => model,
      ([, { requestsMax }]) => requestsMax ?? null,
      ([, { requestsMax }]) => requestsMax !== undefined,
      ([, { tokensMax }]) => tokensMax ?? null,
      ([, { tokensMax }]) => tokensMax !== undefined,
    ),
  ]);
  await transaction.query(deleteEmpty, [accountId, own]);
  const limits = (await readLimits(transaction, [accountId], [own], (row) => row.keyId)).get(own) ?? NO_RATE_LIMITS;
  if (limits.models.size > RATE_LIMITED_MODELS_MAX) throw new TooManyModelsError();
  return limits;
}

async function readLimits(
  queryable: PartitionQueryable,
  accountIds: readonly string[],
  keyIds: readonly string[],
  ownerOf: (row: RowOf<typeof PLACED>) => string,
): Promise<ReadonlyMap<string, RateLimits>> {
  const rows = PLACED.all(await queryable.query(selectLimits, [toArray(accountIds), toArray(keyIds)]));
  return new Map(
    [...Map.groupBy(rows, ownerOf)].map(([owner, own]) => {
      const maxima = new Map<string, RateMaxima>(own.map((row) => [row.model, row.maxima]));
      const ofAll = maxima.get('') ?? NO_RATE_LIMITS;
      maxima.delete('');
      return [owner, { requestsMax: ofAll.requestsMax, tokensMax: ofAll.tokensMax, models: maxima }];
    }),
  );
}

export function routedRateLimits(routes: Routes<RateLimitStore>): RateLimitStore {
  return {
    ...routedByAccount<Pick<RateLimitStore, 'change'>>(routes, { change: accountIdOf }),
    ofAccounts: (accountIds) => mapByPartition(routes, accountIds, itself, (store, those) => store.ofAccounts(those)),
    ofKeys: (keys) => mapByPartition(routes, keys, accountIdOf, (store, those) => store.ofKeys(those)),
  };
}
