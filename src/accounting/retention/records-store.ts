import type { Parameter, Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-lanes.ts';
import { intColumn, jsonbColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import { firstIdAt } from '../../lib/ids.ts';
import { monthTableName } from '../calls/calls-store.ts';
import { sqlTimezone } from '../usage/sql-timezone.ts';
import type { Month } from './months.ts';

/** The SQL that the stores of retention share: tables of records, their locks, and slices of records that are written down. */

/** An id is made as the call starts. A clock that is set in between may make it more. */
const ID_SLACK_MS = 600_000;

/** The first id that no record before an instant has. */
export const firstIdBehind = (atMs: number): string => firstIdAt('call', atMs + ID_SLACK_MS);

export const SLICE = selection({
  rows: intColumn('(select count(*)::int from part) as rows'),
  dropped: intColumn('(select count(*)::int from dropped) as dropped'),
  accountId: orNull(textColumn('last.account_id')),
  callId: orNull(textColumn('last.id')),
  /** One that does not agree with the ledger. */
  wrongId: orNull(textColumn('(select min(id) from checked where is_wrong) as wrong_id')),
  /** Those that may still change. */
  unresolved: jsonbColumn<readonly string[]>(
    `(select coalesce(jsonb_agg(id), '[]') from part where status = 'unresolved') as unresolved`,
  ),
});

/** Runs a statement that writes a slice of records down. Its own parameters come behind the time zone. */
export async function writeSlice(
  on: PartitionQueryable,
  statement: Statement,
  timezone: string,
  parameters: readonly Parameter[],
): Promise<RowOf<typeof SLICE>> {
  return SLICE.first(await on.query(statement, [sqlTimezone(timezone), ...parameters]))!;
}

/** Whoever wants the table later waits behind us for as long. */
const LOCK_MS = 50;

const limitLocks: Statement = {
  name: 'retention.limit-locks',
  text: `select set_config('lock_timeout', '${LOCK_MS}ms', true)`,
};

/** What the end of the table of a month needs anyway. */
const lockCalls: Statement = {
  name: 'retention.lock-calls',
  text: 'lock table only calls in access exclusive mode',
};

/** Locks all records, for as short as it takes, or fails. */
export async function lockRecords(transaction: PartitionQueryable): Promise<void> {
  await transaction.query(limitLocks);
  await transaction.query(lockCalls);
}

/** With its indexes. */
export const dropTable = (month: Month): Statement => ({
  name: `retention.drop-${monthTableName(month)}`,
  text: `drop table ${monthTableName(month)}`,
});
