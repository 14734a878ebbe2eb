import type { Statement } from '../../db/database.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { lockOfPartition } from '../../db/partition-locks.ts';
import { ADD_ATTEMPTS } from './attempts-store.ts';
import { ADD_CALLERS, CALLS_BY_CALLER, refundsByCaller } from './caller-sums-store.ts';
import { OF_CALLS, OF_REFUNDS, ROLLUP_KEY, ROLLUP_SUMS, TOTALS_KEY } from './rollup-columns.ts';
import { ADD_COSTS } from './route-costs-store.ts';
import { sqlTimezone } from './sql-timezone.ts';

/**
 * This file sums each final record exactly once: the statement that sums it also deletes its row of `usage_queue` or, for imported records,
 * moves a cursor past their ids (`docs/decisions/0033-usage-rollups.md`).
 */

/** Queue rows per batch. Each one has the calls of one settlement batch, at most 256. */
const QUEUE_ROWS = 8;
const IMPORTED_ROWS = 500;

/** Id of the advisory lock that a node holds while it sums a partition's usage; arbitrary, but the same on every node. */
const ROLLUP_LOCK = 7_212_202_611;

const tryLock: Statement = {
  name: 'usage.try-lock',
  text: 'select pg_try_advisory_xact_lock($1::bigint) as is_ours',
};

const ADD_FOUND = `summed as materialized (
  select ${ROLLUP_KEY.join(', ')}, ${ROLLUP_SUMS.map((name) => `sum(${name}) as ${name}`).join(', ')}
  from found group by ${ROLLUP_KEY.join(', ')}
),
by_account as (${addTo('usage_rollups', ROLLUP_KEY, ROLLUP_SUMS)}),
over_all as (${addTo(
  'usage_totals',
  TOTALS_KEY,
  ROLLUP_SUMS.map((name) => `sum(${name})`),
  `group by ${TOTALS_KEY.join(', ')}`,
)})`;

function addTo(table: string, key: readonly string[], values: readonly string[], grouped = ''): string {
  return `insert into ${table} as t (${key.join(', ')}, ${ROLLUP_SUMS.join(', ')})
  select ${key.join(', ')}, ${values.join(', ')} from summed ${grouped} order by ${key.join(', ')}
  on conflict (${key.join(', ')}) do update set
    ${ROLLUP_SUMS.map((name) => `${name} = t.${name} + excluded.${name}`).join(', ')}`;
}

/** SQL: the queued refunds `e` with their calls `c`. */
const REFUNDED = `from taken t
  join ledger_entries e on e.account_id = t.account_ids[1] and e.entry_no = t.entry_no
  join calls c on c.account_id = t.account_ids[1] and c.id = t.call_ids[1]`;

/** Sums queued calls. Reads the short queue from its start, calls by primary key in their month, and refunded calls in all months. */
const sumQueued: Statement = {
  name: 'usage.sum-queued',
  text: `with taken as (
  delete from usage_queue where ctid = any (array(select ctid from usage_queue limit ${QUEUE_ROWS}))
  returning account_ids, call_ids, started_ats, entry_no
),
ended as (
  select n.account_id, n.call_id, n.started_at
  from taken t cross join lateral unnest(t.account_ids, t.call_ids, t.started_ats) as n (account_id, call_id, started_at)
  where t.entry_no is null
),
final_calls as materialized (
  select c.*
  from ended n join calls c on c.account_id = n.account_id and c.id = n.call_id and c.started_at = n.started_at
),
found as (
  select ${OF_CALLS} from final_calls c
  union all
  select ${OF_REFUNDS}
  ${REFUNDED}
),
by_caller as (
  ${CALLS_BY_CALLER}
  union all
  ${refundsByCaller(REFUNDED)}
),
${ADD_FOUND},
${ADD_CALLERS},
${ADD_ATTEMPTS},
${ADD_COSTS},
changed as (
  insert into account_changes (account_ids)
  select array_agg(distinct account_id) from found having count(*) > 0
)
select count(*)::int as n from taken`,
};

const lockImported: Statement = {
  name: 'usage.lock-imported',
  text: 'select last_call_id, is_done from usage_backfill for update',
};

/** Sums imported calls. Scans calls_by_id of each month and merges the results in the order of ids. */
const sumImported: Statement = {
  name: 'usage.sum-imported',
  text: `with slice as materialized (
  select id from calls where id > $2::text order by id limit ${IMPORTED_ROWS}
),
ending as materialized (select max(id) as id from slice),
final_calls as materialized (
  select c.* from calls c
  where c.id > $2::text and c.id <= (select id from ending) and c.is_queued is null and c.status <> 'unresolved'
),
found as (select ${OF_CALLS} from final_calls c),
by_caller as (${CALLS_BY_CALLER}),
${ADD_FOUND},
${ADD_CALLERS},
${ADD_ATTEMPTS},
${ADD_COSTS}
update usage_backfill set last_call_id = coalesce(e.id, last_call_id), is_done = e.id is null
from ending e
returning is_done`,
};

/** `more`: more records might be waiting; `idle`: everything is summed; `elsewhere`: another node holds the lock. */
type SliceResult = 'more' | 'idle' | 'elsewhere';

export type RollupStore = ReturnType<typeof createRollupStore>;

export function createRollupStore(database: PartitionPool, partition = 0) {
  return {
    sumSlice: (timezone: string): Promise<SliceResult> =>
      database.transaction(async (transaction) => {
        const zone = sqlTimezone(timezone);
        const [lock] = await transaction.query<{ is_ours: boolean }>(tryLock, [
          lockOfPartition(ROLLUP_LOCK, partition),
        ]);
        if (lock?.is_ours !== true) return 'elsewhere';
        const [queued] = await transaction.query<{ n: number }>(sumQueued, [zone]);
        if (queued!.n > 0) return 'more';
        const [imported] = await transaction.query<{ last_call_id: string; is_done: boolean }>(lockImported);
        if (imported!.is_done) return 'idle';
        await transaction.query(sumImported, [zone, imported!.last_call_id]);
        return 'more';
      }),
  };
}
