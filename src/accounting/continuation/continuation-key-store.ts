import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-lanes.ts';
import { countColumn, intColumn, orNull, selection, textColumn } from '../../db/table.ts';

/** The SQL of continuation keys. */

/** The provider that made what a call refers to. */
export interface ContinuedState {
  readonly model: string;
  readonly providerId: string;
  /** What a call that continues this reads; absent: not known. */
  readonly totalTokens?: number;
}

/** A continuation key that the response of a call has made known. */
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

/** One row a key that is known. Plan: primary key. */
const findContinuationKeys: Statement = {
  name: 'routing.find-affinities',
  text: `select ${FOUND_KEYS.list}
from unnest($1::int[], $2::text[], $3::text[]) as wanted (position, account_id, key)
join continuation_keys using (account_id, key)`,
};

const FORGOTTEN_ROWS_MAX = 500;

/**
 * Housekeeping, over all accounts, by continuation_keys_by_age. Rows that another transaction has locked are left to a later
 * round.
 */
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
  /** For each lookup, in the same order, those of its keys that are known. */
  find(lookups: readonly ContinuationLookup[], signal?: AbortSignal): Promise<ReadonlyMap<string, ContinuedState>[]>;
  /** In batches, until none is left or the signal has aborted. */
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
