import { fieldsOf } from '../../db/columns.ts';
import type { Query, Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-pools.ts';
import {
  countColumn,
  instantColumn,
  intColumn,
  orNull,
  type RowOf,
  selection,
  tableColumns,
  textColumn,
} from '../../db/table.ts';

export interface ContinuedState {
  readonly model: string;
  readonly providerId: string;
  /** Tokens that the state adds to the input of a later call; absent: unknown. */
  readonly totalTokens?: number;
}

export interface MadeContinuedState extends ContinuedState {
  readonly atMs: number;
}

const FOUND_KEYS = selection({
  position: intColumn('position'),
  key: textColumn('key'),
  model: textColumn('model'),
  provider: textColumn('provider'),
  totalTokens: orNull(countColumn('total_tokens')),
});

const findContinuationKeys: Statement = {
  name: 'routing.find-affinities',
  text: `select ${FOUND_KEYS.list}
from unnest($1::int[], $2::text[], $3::text[]) as wanted (position, account_id, key)
join continuation_keys using (account_id, key)`,
};

const FORGOTTEN_ROWS_MAX = 500;

/** Deletes old keys, except locked ones, which a later run deletes. Uses continuation_keys_by_age. */
const deleteContinuationKeys: Statement = {
  name: 'routing.delete-affinities',
  text: `with old as (
  select account_id, key from continuation_keys where made_at < $1::timestamptz
  order by made_at limit ${FORGOTTEN_ROWS_MAX}
  for update skip locked
)
delete from continuation_keys k using old
where k.account_id = old.account_id and k.key = old.key
returning 1 as gone`,
};

export interface ContinuationLookup {
  readonly accountId: string;
  readonly keys: readonly string[];
}

export interface ContinuationKeyStore {
  /** Finds states, in the order of the lookups. */
  find(lookups: readonly ContinuationLookup[], signal?: AbortSignal): Promise<ReadonlyMap<string, ContinuedState>[]>;
  /** Deletes older keys in batches, until none is left or the signal is aborted. */
  deleteBefore(instant: Date, signal?: AbortSignal): Promise<void>;
}

export function createContinuationKeyStore(database: PartitionQueryable): ContinuationKeyStore {
  return {
    async find(lookups, signal) {
      const wanted = lookups.flatMap(({ accountId, keys }, position) =>
        keys.map((key) => ({ position, accountId, key })),
      );
      const names = fieldsOf(wanted, 'position', 'accountId', 'key');
      const rows = await database.query(findContinuationKeys, names, signal);
      const found = lookups.map(() => new Map<string, ContinuedState>());
      for (const { position, key, model, provider, totalTokens } of FOUND_KEYS.all(rows)) {
        const made = { model, providerId: provider };
        found[position]!.set(key, totalTokens === null ? made : { ...made, totalTokens });
      }
      return found;
    },
    async deleteBefore(instant, signal) {
      let rows: unknown[];
      do rows = await database.query(deleteContinuationKeys, [instant]);
      while (rows.length === FORGOTTEN_ROWS_MAX && !signal?.aborted);
    },
  };
}

const CONTINUATION_KEYS = tableColumns({
  accountId: textColumn('account_id'),
  key: textColumn('key'),
  model: textColumn('model'),
  providerId: textColumn('provider'),
  atMs: instantColumn('made_at'),
  totalTokens: orNull(countColumn('total_tokens')),
});

/** Inserts in the order of keys, so that nodes that record the same keys do not deadlock. */
const recordContinuationKeys: Statement = {
  name: 'settlement.record-continuation-keys',
  text: `insert into continuation_keys (${CONTINUATION_KEYS.list})
select distinct on (account_id, key) ${CONTINUATION_KEYS.list}
from ${CONTINUATION_KEYS.rows.as('made')}
order by account_id, key, made_at desc
on conflict (account_id, key) do update
  set model = excluded.model, provider = excluded.provider, made_at = excluded.made_at,
    total_tokens = excluded.total_tokens
  where continuation_keys.made_at <= excluded.made_at`,
};

export function continuationWrites(
  ends: readonly {
    readonly outcome: { readonly accountId: string };
    readonly made: (MadeContinuedState & { readonly keys: readonly string[] }) | null;
  }[],
): Query[] {
  const rows: RowOf<typeof CONTINUATION_KEYS>[] = [];
  for (const { outcome, made } of ends) {
    if (made === null) continue;
    for (const key of made.keys) rows.push({ totalTokens: null, ...made, key, accountId: outcome.accountId });
  }
  return CONTINUATION_KEYS.rows.write(recordContinuationKeys, rows);
}
