import { type Statement, toArray } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import type { PartitionDatabase, PartitionQueryable } from '../../db/home-pools.ts';
import { lockOfPartition } from '../../db/partition-locks.ts';
import { booleanColumn, listColumn, selection } from '../../db/table.ts';
import { firstIdAt } from '../../lib/ids.ts';
import { monthTableName } from '../calls/calls-store.ts';
import { sqlTimezone } from '../usage/sql-timezone.ts';
import { DisagreementError } from './disagreement.ts';
import { RECORD_SUMS } from './dropped-sums-store.ts';
import { boundsOf, type Month } from './months.ts';
import { createRecordDeletion } from './orphaned-records-store.ts';
import { DISAGREES, deleteCallerSums, dropTable, firstIdAfter, lockRecords } from './records-store.ts';

/**
 * A month is dropped in two transactions. The first one compares the records with the ledger and stores their sums, without locks. The
 * second one drops the table, which makes the sums valid; it briefly holds an exclusive lock on the records.
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

/** Whether all records with ids below $1 are summed, and none of these calls is in flight. The queue and the reservations are short. */
const selectReadiness: Statement = { name: 'retention.select-readiness', text: `select ${READINESS.list}` };

/** Marks a month as being dropped. From then on, late ends of its calls write nothing. */
const insertMonth: Statement = {
  name: 'retention.insert-month',
  text: 'insert into dropped_months (month) values ($1::date) on conflict (month) do nothing',
};

const MONTHS = selection({
  isDropped: booleanColumn('dropped_at is not null as is_dropped'),
  isSummed: booleanColumn('is_summed'),
  isVoid: booleanColumn('is_void'),
  unresolved: listColumn('unresolved'),
});

const selectMonth: Statement = {
  name: 'retention.select-month',
  text: `select ${MONTHS.list} from dropped_months where month = $1::date`,
};

const lockMonth: Statement = { name: 'retention.lock-month', text: `${selectMonth.text} for update` };

/** Id of the advisory lock that a node holds while it sums a partition's records; arbitrary, but the same on every node. */
const SUMS_LOCK = 7_212_202_613;

const tryLock: Statement = {
  name: 'retention.try-lock',
  text: 'select pg_try_advisory_xact_lock($1::bigint) as is_ours',
};

const useSnapshot: Statement = {
  name: 'retention.use-snapshot',
  text: 'set transaction isolation level repeatable read',
};

/** SQLSTATE of a transaction that changes a row which another one has changed since its snapshot. */
const SERIALIZATION_FAILURE = '40001';

const findWrong = (month: Month): Statement => ({
  name: `retention.find-wrong-${monthTableName(month)}`,
  text: `select c.id from ${monthTableName(month)} c ${DISAGREES} limit 1`,
});

const findWrongNamed = (month: Month): Statement => ({
  name: `retention.find-wrong-named-${monthTableName(month)}`,
  text: `select c.id from ${monthTableName(month)} c ${DISAGREES} and c.id = any ($1::text[]) limit 1`,
});

/**
 * Finds an account that was charged for a call without a record. The id of the call is between $1 and $2, its start would be between $3
 * and $4. Ignores records of the month $5 that were dropped earlier. Uses ledger_one_charge_a_call for each account.
 */
const findOrphans: Statement = {
  name: 'retention.find-orphaned-charges',
  text: `with orphans as (
  select b.account_id, count(*) as charges, -sum(e.amount_nano) as charge_nano
  from balances b
  cross join lateral (
    select e.call_id, e.amount_nano from ledger_entries e
    where e.account_id = b.account_id and e.kind = 'charge' and e.call_id >= $1::text and e.call_id < $2::text offset 0
  ) e
  where not exists (
    select from calls c
    where c.account_id = b.account_id and c.id = e.call_id and c.started_at >= $3::timestamptz and c.started_at < $4::timestamptz
  )
  group by b.account_id
),
dropped as (
  select d.account_id, sum(d.charged_calls) as charges, sum(d.charge_nano) as charge_nano
  from dropped_calls d join dropped_months m on m.month = d.dropped_in and m.dropped_at is not null
  where d.month = $5::date group by d.account_id
)
select account_id from orphans o left join dropped d using (account_id)
where o.charges is distinct from d.charges or o.charge_nano is distinct from d.charge_nano order by account_id limit 1`,
};

/** Deletes the sums of an earlier run, which are no longer valid. */
const DELETE_SUMS: readonly Statement[] = ['dropped_calls', 'dropped_uses', 'dropped_usage'].map((table) => ({
  name: `retention.delete-${table}`,
  text: `delete from ${table} where dropped_in = $1::date`,
}));

/** Sums a month's records, except unresolved calls, which may still change. The transaction that drops the table adds the unresolved calls. */
const sumMonth = (month: Month): Statement => ({
  name: `retention.sum-${monthTableName(month)}`,
  text: `with dropped as not materialized (
  select c.*, $2::date as dropped_in from ${monthTableName(month)} c where c.status <> 'unresolved'
),
${RECORD_SUMS}
select`,
});

const sumNamed = (month: Month): Statement => ({
  name: `retention.sum-named-${monthTableName(month)}`,
  text: `with dropped as materialized (
  select c.*, $2::date as dropped_in from ${monthTableName(month)} c where c.id = any ($3::text[])
),
${RECORD_SUMS}
select`,
});

const markSummed = (month: Month): Statement => ({
  name: `retention.mark-summed-${monthTableName(month)}`,
  text: `update dropped_months set is_summed = true, is_void = false,
  unresolved = array(select id from ${monthTableName(month)} where status = 'unresolved')
where month = $1::date`,
});

const markDropped: Statement = {
  name: 'retention.mark-dropped',
  text: `update dropped_months set dropped_at = statement_timestamp(), drops = drops + 1, unresolved = '{}' where month = $1::date`,
};

export type Wait = 'not_summed' | 'in_flight' | 'elsewhere' | 'changed';

export type RetentionStore = ReturnType<typeof createRetentionStore>;

const ROWS_MAX = 2_000;
const DAY_MS = 86_400_000;

/** @param number number of the partition */
export function createRetentionStore(
  database: Pick<PartitionDatabase, 'pool' | 'longTransaction'>,
  number = 0,
  rowsMax = ROWS_MAX,
) {
  const housekeeping = database.pool('housekeeping');

  async function readiness(on: PartitionQueryable, beforeMs: number): Promise<'ready' | 'not_summed' | 'in_flight'> {
    const { isSummed, isOver } = READINESS.first(await on.query(selectReadiness, [firstIdAfter(beforeMs)]))!;
    if (!isOver) return 'in_flight';
    return isSummed ? 'ready' : 'not_summed';
  }

  return {
    ...createRecordDeletion(housekeeping, rowsMax),
    /** Returns the months that have a table of records, oldest first. */
    async months(): Promise<Month[]> {
      const tables = await housekeeping.query<{ name: string }>(listTables);
      return tables.flatMap(({ name }) => {
        const match = MONTH_TABLE.exec(name);
        return match === null ? [] : [`${match[1]}-${match[2]}-01`];
      });
    },
    readiness: (beforeMs: number) => readiness(housekeeping, beforeMs),
    /** Begins to drop a month. `dropped_before`: the month was dropped earlier and has records again. */
    async begin(month: Month): Promise<'begun' | 'dropped_before'> {
      await housekeeping.query(insertMonth, [month]);
      return MONTHS.first(await housekeeping.query(selectMonth, [month]))!.isDropped ? 'dropped_before' : 'begun';
    },
    /** Compares the records with the ledger and stores their sums, unless this was done before. @throws DisagreementError */
    async sum(month: Month, timezone: string, signal: AbortSignal): Promise<'summed' | 'elsewhere' | 'changed'> {
      try {
        return await database.longTransaction(async (transaction) => {
          await transaction.query(useSnapshot);
          const [lock] = await transaction.query<{ is_ours: boolean }>(tryLock, [lockOfPartition(SUMS_LOCK, number)]);
          if (lock?.is_ours !== true) return 'elsewhere';
          const { isDropped, isSummed, isVoid } = MONTHS.first(await transaction.query(selectMonth, [month]))!;
          if (isDropped) return 'elsewhere';
          if (isSummed && !isVoid) return 'summed';
          await requireAgreement(transaction, month);
          for (const statement of DELETE_SUMS) await transaction.query(statement, [month]);
          await transaction.query(sumMonth(month), [sqlTimezone(timezone), month]);
          await transaction.query(markSummed(month), [month]);
          return 'summed';
        }, signal);
      } catch (error) {
        if (sqlState(error) === SERIALIZATION_FAILURE) return 'changed';
        throw error;
      }
    },
    /** Drops a month whose records are in the sums. @throws DisagreementError, or a lock timeout (`isLockTimeout`) */
    drop: (month: Month, timezone: string): Promise<'dropped' | Wait> =>
      housekeeping.transaction(async (transaction) => {
        await lockRecords(transaction);
        const { isDropped, isSummed, isVoid, unresolved } = MONTHS.first(await transaction.query(lockMonth, [month]))!;
        if (isDropped || !isSummed) return 'elsewhere';
        if (isVoid) return 'changed';
        const ready = await readiness(transaction, boundsOf(month).toMs);
        if (ready !== 'ready') return ready;
        if (unresolved.length > 0) {
          const ids = toArray(unresolved);
          await requireNone(transaction, findWrongNamed(month), [ids]);
          await transaction.query(sumNamed(month), [sqlTimezone(timezone), month, ids]);
        }
        await transaction.query(dropTable(month));
        await transaction.query(deleteCallerSums, [month]);
        await transaction.query(markDropped, [month]);
        return 'dropped';
      }),
  };
}

/** Each record must have its charge in the ledger. Each charge must have a record, or one that was dropped earlier. */
async function requireAgreement(transaction: PartitionQueryable, month: Month): Promise<void> {
  await requireNone(transaction, findWrong(month), []);
  const { fromMs, toMs } = boundsOf(month);
  const [orphan] = await transaction.query<{ account_id: string }>(findOrphans, [
    firstIdAt('call', fromMs),
    firstIdAt('call', toMs),
    new Date(fromMs - DAY_MS),
    new Date(toMs + DAY_MS),
    month,
  ]);
  if (orphan !== undefined)
    throw new DisagreementError(`account ${orphan.account_id} has charges without call records`);
}

async function requireNone(
  transaction: PartitionQueryable,
  find: Statement,
  parameters: readonly string[],
): Promise<void> {
  const [wrong] = await transaction.query<{ id: string }>(find, parameters);
  if (wrong !== undefined) throw new DisagreementError(`call ${wrong.id}`);
}
