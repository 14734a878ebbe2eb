import { type Queryable, type Statement, toArray } from '../db/database.ts';

/** The SQL of affinities. */

/** Who made what a call refers to. */
export interface Affinity {
  readonly model: string;
  readonly providerId: string;
  /** What a call that continues this reads; absent: not known. */
  readonly totalTokens?: number;
}

/** An affinity as it comes about. */
export interface MadeAffinity extends Affinity {
  readonly atMs: number;
}

/** One row a key that is known. Plan: primary key. */
const findAffinities: Statement = {
  name: 'routing.find-affinities',
  text: `select position, key, model, provider, total_tokens
from unnest($1::int[], $2::text[], $3::text[]) as wanted (position, account_id, key)
join affinities using (account_id, key)`,
};

/**
 * Keeps the newest maker of a key. Rows go in by the order of their keys, so that two nodes that record the same ones
 * wait for each other instead of deadlocking. Plan: primary key.
 */
const recordAffinities: Statement = {
  name: 'routing.record-affinities',
  text: `insert into affinities (account_id, key, model, provider, made_at, total_tokens)
select distinct on (account_id, key) account_id, key, model, provider, made_at, total_tokens
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::bigint[])
  as made (account_id, key, model, provider, made_at, total_tokens)
order by account_id, key, made_at desc
on conflict (account_id, key) do update
  set model = excluded.model, provider = excluded.provider, made_at = excluded.made_at,
    total_tokens = excluded.total_tokens
  where affinities.made_at <= excluded.made_at`,
};

/** Housekeeping, over all accounts, by affinities_by_age. */
const deleteAffinities: Statement = {
  name: 'routing.delete-affinities',
  text: 'delete from affinities where made_at < $1::timestamptz',
};

export interface AffinityLookup {
  readonly accountId: string;
  readonly keys: readonly string[];
}

interface FoundRow {
  readonly position: number;
  readonly key: string;
  readonly model: string;
  readonly provider: string;
  readonly total_tokens: bigint | null;
}

export interface AffinityRecord extends AffinityLookup, MadeAffinity {}

export interface AffinityStore {
  /** For each lookup, in the same order, those of its keys that are known. */
  find(lookups: readonly AffinityLookup[]): Promise<ReadonlyMap<string, Affinity>[]>;
  record(records: readonly AffinityRecord[]): Promise<void>;
  deleteBefore(instant: Date): Promise<void>;
}

export function createAffinityStore(database: Queryable): AffinityStore {
  return {
    async find(lookups) {
      const wanted = lookups.flatMap(({ accountId, keys }, position) =>
        keys.map((key) => ({ position, accountId, key })),
      );
      const rows = await database.query<FoundRow>(findAffinities, [
        toArray(wanted.map(({ position }) => position)),
        toArray(wanted.map(({ accountId }) => accountId)),
        toArray(wanted.map(({ key }) => key)),
      ]);
      const found = lookups.map(() => new Map<string, Affinity>());
      for (const { position, key, model, provider, total_tokens: total } of rows) {
        const made = { model, providerId: provider };
        found[position]!.set(key, total === null ? made : { ...made, totalTokens: Number(total) });
      }
      return found;
    },
    async record(records) {
      const rows = records.flatMap(({ keys, ...record }) => keys.map((key) => ({ ...record, key })));
      await database.query(recordAffinities, [
        toArray(rows.map(({ accountId }) => accountId)),
        toArray(rows.map(({ key }) => key)),
        toArray(rows.map(({ model }) => model)),
        toArray(rows.map(({ providerId }) => providerId)),
        toArray(rows.map(({ atMs }) => new Date(atMs).toISOString())),
        toArray(rows.map(({ totalTokens }) => totalTokens ?? null)),
      ]);
    },
    async deleteBefore(instant) {
      await database.query(deleteAffinities, [instant]);
    },
  };
}
