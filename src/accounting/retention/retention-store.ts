import { type Statement, toArray } from '../../db/database.ts';
import type { PartitionLane, PartitionQueryable } from '../../db/home-lanes.ts';
import { booleanColumn, listColumn, type RowOf, selection, textColumn } from '../../db/table.ts';
import { monthTableName } from '../calls/calls-store.ts';
import { DisagreementError } from './disagreement.ts';
import { writtenDown } from './dropped-sums-store.ts';
import { createLooseRecords } from './loose-records-store.ts';
import { boundsOf, type Month } from './months.ts';
import { createOrphanSearch } from './orphans-store.ts';
import { dropTable, firstIdBehind, lockRecords, SLICE, writeSlice } from './records-store.ts';

/**
 * The SQL that drops months of call records. What the records of a month say is written down in slices, each a transaction, and becomes
 * valid with the transaction that drops the table of the month; records elsewhere are deleted in slices, with what they say. Nothing here
 * waits for a lock for longer than a moment, and nobody waits for longer behind one.
 */

const MONTH_TABLE = /^calls_(\d{4})_(\d{2})$/;

const listTables: Statement = {
  name: 'retention.list-tables',
  text: `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
where i.inhparent = 'calls'::regclass order by c.relname`,
};

const READINESS = selection({
  isSummed: booleanColumn(`(select is_done from usage_backfill) and not exists (
  select from usage_queue q cross join lateral unnest(q.call_ids) as n (id) where n.id < $1::text
) as is_summed`),
  isOver: booleanColumn('not exists (select from reservations r where r.call_id < $1::text) as is_over'),
});

/** Of records up to an id. Plans: the queue is short, and as many reservations are there as calls in flight. */
const selectReadiness: Statement = { name: 'retention.select-readiness', text: `select ${READINESS.list}` };

/** A node that has not been heard for so long has stopped. It is heard after each slice. */
const SILENCE = `interval '5 minutes'`;

const BEGUN = selection({
  isDropped: booleanColumn('dropped_at is not null as is_dropped'),
  isOurs: booleanColumn('run_id is not distinct from $2::text as is_ours'),
});

const beginMonth: Statement = {
  name: 'retention.begin-month',
  text: `insert into dropped_months as m (month, run_id, seen_at) values ($1::date, $2::text, statement_timestamp())
on conflict (month) do update set run_id = $2::text, seen_at = excluded.seen_at
where m.dropped_at is null
  and (m.run_id is null or m.run_id = $2::text or excluded.seen_at - m.seen_at > ${SILENCE})`,
};

const selectBegun: Statement = {
  name: 'retention.select-begun',
  text: `select ${BEGUN.list} from dropped_months where month = $1::date`,
};

const PLACE = selection({
  accountId: textColumn('last_account_id'),
  callId: textColumn('last_call_id'),
  isSummed: booleanColumn('is_summed'),
  isVoid: booleanColumn('is_void'),
  unresolved: listColumn('unresolved'),
});

/** Locks the month; none if another node has it, or has dropped it. */
const keepMonth: Statement = {
  name: 'retention.keep-month',
  text: `update dropped_months set seen_at = statement_timestamp()
where month = $1::date and run_id = $2::text and dropped_at is null
returning month`,
};

/** Of a month that is locked. */
const selectPlace: Statement = {
  name: 'retention.select-place',
  text: `select ${PLACE.list} from dropped_months where month = $1::date`,
};

const moveOn: Statement = {
  name: 'retention.move-on',
  text: `update dropped_months set last_account_id = coalesce($2::text, last_account_id),
  last_call_id = coalesce($3::text, last_call_id), is_summed = $4::boolean, unresolved = unresolved || $5::text[]
where month = $1::date`,
};

/** Records and ledger may have been mended since: nothing that is written down counts any more. */
const voidMonth: Statement = {
  name: 'retention.void-month',
  text: 'update dropped_months set is_void = true where month = $1::date and run_id = $2::text and dropped_at is null',
};

/** Deletes what is written down of a month: rows of accounts from $2 on, up to $3 of them. Plan: primary key, along the index. */
const clearSlice = (table: string): Statement => ({
  name: `retention.clear-${table}`,
  text: `with part as materialized (
  select ctid, account_id from ${table} where dropped_in = $1::date and account_id >= $2::text order by account_id limit $3::int
),
gone as (delete from ${table} where ctid = any (array(select ctid from part)))
select count(*)::int as n, max(account_id) as last_id from part`,
});

const WRITTEN_DOWN = ['dropped_calls', 'dropped_uses', 'dropped_usage'].map(clearSlice);

const beginAnew: Statement = {
  name: 'retention.begin-anew',
  text: `update dropped_months set is_void = false, is_summed = false, last_account_id = '', last_call_id = '', unresolved = '{}'
where month = $1::date`,
};

/** The next records of a month, up to $4 behind ($2, $3); those that may still change are named. Plan: primary key of the table. */
const sumSlice = (month: Month): Statement => ({
  name: `retention.sum-${monthTableName(month)}`,
  text: `with part as materialized (
  select * from ${monthTableName(month)} where (account_id, id) > ($2::text, $3::text) order by account_id, id limit $4::int
),
${writtenDown(`c.status <> 'unresolved'`)}
select ${SLICE.list}
from (values (1)) as one (row) left join (select account_id, id from part order by account_id desc, id desc limit 1) last on true`,
});

/** The records that could have changed since they were looked at, as they are now. Plan: index by id of the table. */
const sumNamed = (month: Month): Statement => ({
  name: `retention.sum-named-${monthTableName(month)}`,
  text: `with part as materialized (select * from ${monthTableName(month)} where id = any ($2::text[])),
${writtenDown('true')}
select ${SLICE.list} from (values (1)) as one (row) left join (select null as account_id, null as id) last on true`,
});

const markDropped: Statement = {
  name: 'retention.mark-dropped',
  text: `update dropped_months set dropped_at = statement_timestamp(), drops = drops + 1, run_id = null, seen_at = null, unresolved = '{}'
where month = $1::date`,
};

/** The table that is cleared, by its number, and an account of which nothing before is left. */
interface ClearedUpTo {
  readonly table: number;
  readonly accountId: string;
}

export const UNCLEARED: ClearedUpTo = { table: 0, accountId: '' };

/** Why a month stays for now. */
export type Wait = 'not_summed' | 'in_flight' | 'elsewhere' | 'changed';

export type RetentionStore = ReturnType<typeof createRetentionStore>;

/** Rows of a slice. */
const ROWS_MAX = 2_000;

export function createRetentionStore(database: PartitionLane, rowsMax: number = ROWS_MAX) {
  async function readiness(on: PartitionQueryable, beforeMs: number): Promise<'ready' | 'not_summed' | 'in_flight'> {
    const { isSummed, isOver } = READINESS.first(await on.query(selectReadiness, [firstIdBehind(beforeMs)]))!;
    if (!isOver) return 'in_flight';
    return isSummed ? 'ready' : 'not_summed';
  }

  /** In a transaction the month is locked until its end. */
  async function keep(
    transaction: PartitionQueryable,
    month: Month,
    runId: string,
  ): Promise<RowOf<typeof PLACE> | null> {
    const kept = await transaction.query(keepMonth, [month, runId]);
    return kept.length === 0 ? null : PLACE.first(await transaction.query(selectPlace, [month]));
  }

  return {
    ...createOrphanSearch(database, rowsMax, async (month, runId) => (await keep(database, month, runId)) !== null),
    ...createLooseRecords(database, rowsMax),
    /** Months that have a table of records, the oldest first. */
    async months(): Promise<Month[]> {
      const tables = await database.query<{ name: string }>(listTables);
      return tables.flatMap(({ name }) => {
        const match = MONTH_TABLE.exec(name);
        return match === null ? [] : [`${match[1]}-${match[2]}-01`];
      });
    },
    /** Whether records that started before an instant may be dropped now; if not, why. */
    readiness: (beforeMs: number) => readiness(database, beforeMs),
    /**
     * Takes a month for a run, which goes on where the one before has stopped. `dropped_before`: the month was dropped once, and has
     * records again.
     */
    async begin(month: Month, runId: string): Promise<'begun' | 'elsewhere' | 'dropped_before'> {
      await database.query(beginMonth, [month, runId]);
      const begun = BEGUN.first(await database.query(selectBegun, [month, runId]))!;
      if (begun.isDropped) return 'dropped_before';
      return begun.isOurs ? 'begun' : 'elsewhere';
    },
    /** What is written down of a month does not count any more: it is deleted before the month is begun anew. */
    async void(month: Month, runId: string): Promise<void> {
      await database.query(voidMonth, [month, runId]);
    },
    /** Deletes what does not count: of one of its tables behind an account. Returns where to go on; `null`: nothing is left. */
    clear: (
      month: Month,
      runId: string,
      { table, accountId }: ClearedUpTo,
    ): Promise<ClearedUpTo | null | 'elsewhere'> =>
      database.transaction(async (transaction) => {
        const place = await keep(transaction, month, runId);
        if (place === null) return 'elsewhere';
        if (!place.isVoid) return null;
        const statement = WRITTEN_DOWN[table];
        if (statement === undefined) {
          await transaction.query(beginAnew, [month]);
          return null;
        }
        const [row] = await transaction.query<{ n: number; last_id: string | null }>(statement, [
          month,
          accountId,
          rowsMax,
        ]);
        return row!.n < rowsMax ? { table: table + 1, accountId: '' } : { table, accountId: row!.last_id! };
      }),
    /**
     * Writes the next records of a month down. Returns whether there may be more.
     *
     * @throws DisagreementError
     */
    sumSlice: (month: Month, runId: string, timezone: string): Promise<'more' | 'done' | 'elsewhere' | 'changed'> =>
      database.transaction(async (transaction) => {
        const place = await keep(transaction, month, runId);
        if (place === null) return 'elsewhere';
        if (place.isVoid) return 'changed';
        if (place.isSummed) return 'done';
        const from = [place.accountId, place.callId, rowsMax];
        const summed = await writeSlice(transaction, sumSlice(month), timezone, from);
        const { accountId, callId, wrongId, unresolved } = summed;
        if (wrongId !== null) throw new DisagreementError(`call ${wrongId}`);
        const isDone = summed.rows < rowsMax;
        await transaction.query(moveOn, [month, accountId, callId, isDone, toArray(unresolved)]);
        return isDone ? 'done' : 'more';
      }),
    /**
     * Drops the table of a month that is written down.
     *
     * @throws DisagreementError
     * @throws where others have locked the records for longer than a moment (`isLockTimeout`).
     */
    drop: (month: Month, runId: string, timezone: string): Promise<'dropped' | Wait> =>
      database.transaction(async (transaction) => {
        await lockRecords(transaction);
        const place = await keep(transaction, month, runId);
        if (place?.isSummed !== true) return 'elsewhere';
        if (place.isVoid) return 'changed';
        const ready = await readiness(transaction, boundsOf(month).toMs);
        if (ready !== 'ready') return ready;
        if (place.unresolved.length > 0) {
          const named = await writeSlice(transaction, sumNamed(month), timezone, [toArray(place.unresolved)]);
          if (named.wrongId !== null) throw new DisagreementError(`call ${named.wrongId}`);
        }
        await transaction.query(dropTable(month));
        await transaction.query(markDropped, [month]);
        return 'dropped';
      }),
  };
}
