import { type Statement, toArray } from '../../db/database.ts';
import type { PartitionLane } from '../../db/home-lanes.ts';
import { monthTableName } from '../calls/calls-store.ts';
import { writtenDown } from './dropped-sums-store.ts';
import type { Month } from './months.ts';
import { dropTable, firstIdBehind, lockRecords, SLICE, writeSlice } from './records-store.ts';

/** The SQL that deletes records row by row: those without a table of their month, and those that a month got after it was dropped. */

/**
 * Locks records that started before $3 and whose ids are between $1 and $2, up to $4 of them, but for those that others have locked.
 * Plan: index by id of the table.
 */
const lockSlice = (month: Month | null): Statement => ({
  name: `retention.lock-${monthTableName(month)}`,
  text: `select id from ${monthTableName(month)} where id > $1::text and id < $2::text and started_at < $3::timestamptz
order by id limit $4::int for update skip locked`,
});

/**
 * Deletes locked records, and writes down what they say, but for those that do not agree with the ledger, and those with a refund that
 * is not summed yet. Plans: index by id of the table; the queue is short.
 */
const deleteLocked = (month: Month | null): Statement => ({
  name: `retention.delete-${monthTableName(month)}`,
  text: `with part as materialized (select * from ${monthTableName(month)} where id = any ($2::text[]) and started_at < $3::timestamptz),
queued as materialized (select n.id from usage_queue q cross join lateral unnest(q.call_ids) as n (id)),
${writtenDown('not exists (select from queued q where q.id = c.id)')},
gone as (
  delete from ${monthTableName(month)} d using dropped c where d.account_id = c.account_id and d.id = c.id and d.started_at = c.started_at
),
months as (
  insert into dropped_months as m (month, dropped_at, drops)
  select distinct dropped_in, statement_timestamp(), 1 from dropped
  on conflict (month) do update set dropped_at = excluded.dropped_at, drops = m.drops + 1
)
select ${SLICE.list} from (values (1)) as one (row) left join (select null as account_id, null as id) last on true`,
});

const findRecord = (month: Month): Statement => ({
  name: `retention.find-record-${monthTableName(month)}`,
  text: `select id from ${monthTableName(month)} limit 1`,
});

/** Where deletions have got to. */
interface DeletedSlice {
  readonly dropped: number;
  /** The last record that was looked at; `null`: there are no more. */
  readonly lastId: string | null;
  /** One that does not agree with the ledger, and stays. */
  readonly wrongId: string | null;
}

export function createLooseRecords(database: PartitionLane, rowsMax: number) {
  return {
    /** Deletes records before an instant and behind an id: those without a month's table, or those of the table of a month. */
    deleteSlice: (month: Month | null, beforeMs: number, behindId: string, timezone: string): Promise<DeletedSlice> =>
      database.transaction(async (transaction) => {
        const before = new Date(beforeMs);
        const bounds = [behindId, firstIdBehind(beforeMs), before, rowsMax];
        const locked = await transaction.query<{ id: string }>(lockSlice(month), bounds);
        if (locked.length === 0) return { dropped: 0, lastId: null, wrongId: null };
        const ids = toArray(locked.map(({ id }) => id));
        const { dropped, wrongId } = await writeSlice(transaction, deleteLocked(month), timezone, [ids, before]);
        return { dropped, lastId: locked.length < rowsMax ? null : locked.at(-1)!.id, wrongId };
      }),
    /** Drops the table of a month whose records have been deleted. @throws as `drop`. */
    dropEmpty: (month: Month): Promise<'dropped' | 'not_empty'> =>
      database.transaction(async (transaction) => {
        await lockRecords(transaction);
        if ((await transaction.query(findRecord(month))).length > 0) return 'not_empty';
        await transaction.query(dropTable(month));
        return 'dropped';
      }),
  };
}
