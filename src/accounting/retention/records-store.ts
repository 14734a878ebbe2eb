import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-pools.ts';
import { firstIdAt } from '../../lib/ids.ts';
import { monthTableName } from '../calls/calls-store.ts';
import type { Month } from './months.ts';

/** The SQL that the stores of retention share: the tables of call records and their locks. */

/** An id is generated before the start of its call is recorded. A clock that is set back in between makes the id the later one. */
const ID_SLACK_MS = 600_000;

/** An id that is greater than those of all records that started before an instant. */
export const firstIdAfter = (atMs: number): string => firstIdAt('call', atMs + ID_SLACK_MS);

/** SQL: join and condition for records `c` whose charge differs from the ledger. Uses ledger_one_charge_a_call. */
export const DISAGREES = `left join ledger_entries e on e.account_id = c.account_id and e.call_id = c.id and e.kind = 'charge'
where e.amount_nano is distinct from -c.charge_nano`;

/** All others wait behind a waiting exclusive lock, so it gives up soon. */
const LOCK_MS = 50;

const limitLocks: Statement = {
  name: 'retention.limit-locks',
  text: `select set_config('lock_timeout', '${LOCK_MS}ms', true)`,
};

/** To drop the table of a month takes this lock anyway. */
const lockCalls: Statement = {
  name: 'retention.lock-calls',
  text: 'lock table only calls in access exclusive mode',
};

/** @throws if others keep a lock on the records for longer than a moment (`isLockTimeout`). */
export async function lockRecords(transaction: PartitionQueryable): Promise<void> {
  await transaction.query(limitLocks);
  await transaction.query(lockCalls);
}

/** Also drops its indexes. */
export const dropTable = (month: Month): Statement => ({
  name: `retention.drop-${monthTableName(month)}`,
  text: `drop table ${monthTableName(month)}`,
});
