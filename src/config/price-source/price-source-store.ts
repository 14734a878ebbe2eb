import type { Statement } from '../../db/database.ts';
import type { DirectoryPool } from '../../db/home-pools.ts';
import { countColumn, instantColumn, orNull, type RowOf, tableColumns, textColumn } from '../../db/table.ts';

/** SQL of the last read of the price source, which all nodes share. Instants are those of the database's clock. */

/**
 * `unchanged`: the prices are those of the source. `draft`: the differences wait in a draft. `applied`: they are in force. `changed`: there are differences,
 * and the catalog is in a file. `failed`: the source could not be used.
 */
export type ReadOutcome = 'unchanged' | 'draft' | 'applied' | 'changed' | 'failed';

const READS = tableColumns({
  node: textColumn('node'),
  startedAtMs: instantColumn('started_at'),
  /** `null`: the read is in progress, or its node has died. */
  endedAtMs: orNull(instantColumn('ended_at')),
  outcome: orNull(textColumn<ReadOutcome>('outcome')),
  message: orNull(textColumn('message')),
  /** The draft, or the revision that was put in force. */
  revision: orNull(countColumn('revision')),
});

export type PriceSourceRead = RowOf<typeof READS>;

/** A read takes at most 90 seconds. After this time, its node counts as dead. */
const LEASE_MS = 120_000;

/**
 * Begins a read if the last one began $2 milliseconds ago, or $3 if it failed, and no other is in progress. Concurrent nodes wait for the row lock and then
 * find the read of the first. Uses the primary key.
 */
const claim: Statement = {
  name: 'price-source.claim',
  text: `insert into price_source_reads as r (node, started_at) values ($1, clock_timestamp())
on conflict (is_only) do update set node = excluded.node, started_at = excluded.started_at, ended_at = null, outcome = null, message = null, revision = null
where r.started_at <= excluded.started_at - interval '1 millisecond' *
  case when r.ended_at is null then ${LEASE_MS} when r.outcome = 'failed' then $3::bigint else $2::bigint end
returning ${READS.list}`,
};

/** Uses the primary key. A node whose lease has ended records nothing. */
const end: Statement = {
  name: 'price-source.end',
  text: `update price_source_reads set ended_at = clock_timestamp(), outcome = $2, message = $3, revision = $4
where node = $1 and ended_at is null`,
};

/** Uses the primary key. */
const last: Statement = {
  name: 'price-source.last',
  text: `select ${READS.list} from price_source_reads`,
};

export type PriceSourceStore = ReturnType<typeof createPriceSourceStore>;

export function createPriceSourceStore(directory: DirectoryPool) {
  return {
    /** Begins a read by a node; `null`: it is not due, or another one is in progress. */
    begin: async (node: string, afterMs: number, afterFailureMs: number): Promise<PriceSourceRead | null> =>
      READS.first(await directory.query(claim, [node, afterMs, afterFailureMs])),
    async end(
      node: string,
      { outcome, message, revision }: Pick<PriceSourceRead, 'message' | 'revision'> & { readonly outcome: ReadOutcome },
    ): Promise<void> {
      await directory.query(end, [node, outcome, message, revision]);
    },
    /** The last read; `null`: there was none. */
    last: async (): Promise<PriceSourceRead | null> => READS.first(await directory.query(last)),
  };
}
