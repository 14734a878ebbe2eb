import { type Statement, toArray } from '../../db/database.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { intColumn, orNull, selection, textColumn } from '../../db/table.ts';
import { monthTableName } from '../calls/calls-store.ts';
import { sqlTimezone } from '../usage/sql-timezone.ts';
import { RECORD_SUMS } from './dropped-sums-store.ts';
import type { Month } from './months.ts';
import { DISAGREES, deleteCallerSums, dropTable, firstIdAfter, lockRecords } from './records-store.ts';

/** This file deletes records row by row: those in the default partition, and those that were inserted after their month was dropped. */

/** Selects up to $4 records that started before $3, with ids between $1 and $2, except locked ones. Uses the table's index by id. */
const lockBatch = (month: Month | null): Statement => ({
  name: `retention.lock-${monthTableName(month)}`,
  text: `select id from ${monthTableName(month)} where id > $1::text and id < $2::text and started_at < $3::timestamptz
order by id limit $4::int for update skip locked`,
});

const DELETED = selection({
  dropped: intColumn('(select count(*)::int from dropped) as dropped'),
  /** Id of a record that disagrees with the ledger and is therefore kept; `null`: there is none. */
  wrongId: orNull(textColumn('(select min(id) from wrong) as wrong_id')),
});

/** Deletes records, except those that disagree with the ledger or have a refund that is not summed yet. Uses the table's index by id. */
const deleteLocked = (month: Month | null): Statement => ({
  name: `retention.delete-${monthTableName(month)}`,
  text: `with locked as materialized (select * from ${monthTableName(month)} where id = any ($2::text[]) and started_at < $3::timestamptz),
queued as materialized (select n.id from usage_queue q cross join lateral unnest(q.call_ids) as n (id)),
wrong as materialized (select c.id from locked c ${DISAGREES}),
dropped as materialized (
  select c.*, date_trunc('month', c.started_at at time zone 'UTC')::date as dropped_in from locked c
  where not exists (select from wrong w where w.id = c.id) and not exists (select from queued q where q.id = c.id)
),
${RECORD_SUMS},
gone as (
  delete from ${monthTableName(month)} d using dropped c where d.account_id = c.account_id and d.id = c.id and d.started_at = c.started_at
),
months as (
  insert into dropped_months as m (month, dropped_at, drops)
  select distinct dropped_in, statement_timestamp(), 1 from dropped
  on conflict (month) do update set dropped_at = excluded.dropped_at, drops = m.drops + 1
)
select ${DELETED.list}`,
});

const findRecord = (month: Month): Statement => ({
  name: `retention.find-record-${monthTableName(month)}`,
  text: `select id from ${monthTableName(month)} limit 1`,
});

interface DeletedBatch {
  readonly dropped: number;
  /** Last id of the batch; `null`: there are no more records. */
  readonly lastId: string | null;
  readonly wrongId: string | null;
}

export function createRecordDeletion(database: PartitionPool, rowsMax: number) {
  return {
    /** Deletes a batch in the order of ids. With `null` as month, deletes from the default partition. */
    deleteBatch: (month: Month | null, beforeMs: number, afterId: string, timezone: string): Promise<DeletedBatch> =>
      database.transaction(async (transaction) => {
        const before = new Date(beforeMs);
        const bounds = [afterId, firstIdAfter(beforeMs), before, rowsMax];
        const locked = await transaction.query<{ id: string }>(lockBatch(month), bounds);
        if (locked.length === 0) return { dropped: 0, lastId: null, wrongId: null };
        const ids = toArray(locked.map(({ id }) => id));
        const rows = await transaction.query(deleteLocked(month), [sqlTimezone(timezone), ids, before]);
        const { dropped, wrongId } = DELETED.first(rows)!;
        return { dropped, lastId: locked.length < rowsMax ? null : locked.at(-1)!.id, wrongId };
      }),
    /** Drops the table of a month whose records are all deleted. Throws the same errors as `drop`. */
    dropEmpty: (month: Month): Promise<'dropped' | 'not_empty'> =>
      database.transaction(async (transaction) => {
        await lockRecords(transaction);
        if ((await transaction.query(findRecord(month))).length > 0) return 'not_empty';
        await transaction.query(dropTable(month));
        await transaction.query(deleteCallerSums, [month]);
        return 'dropped';
      }),
  };
}
