import type { Database, Statement } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import { booleanColumn, selection, textColumn } from '../../db/table.ts';

/**
 * The index of call records by status, where the migration that made it left it out for partitions that already had many calls:
 * it is built beside the calls that end, which a migration cannot do, as it is one transaction. Later partitions have it from the
 * beginning.
 */

const MISSING = selection({
  partition: textColumn('c.relname as partition'),
  isThere: booleanColumn('x.indexrelid is not null as is_there'),
  isValid: booleanColumn('coalesce(x.indisvalid, false) as is_valid'),
  isBeingBuilt: booleanColumn(
    'exists (select from pg_stat_progress_create_index p where p.index_relid = x.indexrelid) as is_being_built',
  ),
});

/** Partitions without it: whether one of that name is there, which then is not complete, and whether somebody builds it. */
const listMissing: Statement = {
  name: 'calls.list-missing-indexes',
  text: `select ${MISSING.list}
from pg_inherits h
join pg_class c on c.oid = h.inhrelid
left join pg_class i on i.relname = c.relname || '_by_status' and i.relnamespace = c.relnamespace
left join pg_index x on x.indexrelid = i.oid
where h.inhparent = to_regclass('calls') and to_regclass('calls_by_status') is not null and not exists (
  select from pg_inherits a join pg_index ai on ai.indexrelid = a.inhrelid
  where a.inhparent = to_regclass('calls_by_status') and ai.indrelid = c.oid
)
order by c.relname desc`,
};

export interface CallIndexes {
  /**
   * Builds what is missing, the newest partition first. Returns false if another node is at it. When the signal aborts, the
   * server may complete what it is at, and another node goes on.
   */
  build(signal: AbortSignal): Promise<boolean>;
}

export function createCallIndexes(database: Database): CallIndexes {
  // The embedded engine has one session, so there is nobody beside whom to build.
  const concurrently = database.engine === 'embedded' ? '' : 'concurrently';
  return {
    async build(signal) {
      let isComplete = true;
      const missing = MISSING.all(await database.lane('housekeeping').query(listMissing));
      for (const { partition, isThere, isValid, isBeingBuilt } of missing) {
        if (signal.aborted) return isComplete;
        if (isBeingBuilt) {
          isComplete = false;
          continue;
        }
        const index = `${partition}_by_status`;
        try {
          // What is left of a build whose node died.
          if (isThere && !isValid) await database.script(`drop index ${concurrently} ${index}`, signal);
          if (!isThere || !isValid) {
            const columns = `on ${partition} (status, id) where status <> 'succeeded'`;
            await database.script(`create index ${concurrently} ${index} ${columns}`, signal);
          }
          await database.script(`alter index calls_by_status attach partition ${index}`, signal);
        } catch (error) {
          if (sqlState(error) !== DUPLICATE_TABLE) throw error;
          isComplete = false;
        }
      }
      return isComplete;
    },
  };
}

/** Another node was quicker. */
const DUPLICATE_TABLE = '42P07';
