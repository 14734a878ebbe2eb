import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-pools.ts';
import { firstIdAt } from '../../lib/ids.ts';
import { monthTableName } from '../calls/calls-store.ts';
import type { Month } from './months.ts';

/** How much later than the recorded start the time in a call's id can be: the clock may have been set back in between. */
const ID_SLACK_MS = 600_000;

/** Returns an id that sorts after all records that started before an instant. */
export const firstIdAfter = (atMs: number): string => firstIdAt('call', atMs + ID_SLACK_MS);

/** SQL: selects records `c` whose charge differs from the ledger's. Uses ledger_one_charge_a_call. */
export const DISAGREES = `left join ledger_entries e on e.account_id = c.account_id and e.call_id = c.id and e.kind = 'charge'
where e.amount_nano is distinct from -c.charge_nano`;

/** Lock timeout in milliseconds. It is short, because all other transactions queue behind a waiting exclusive lock. */
const LOCK_MS = 50;

const limitLocks: Statement = {
  name: 'retention.limit-locks',
  text: `select set_config('lock_timeout', '${LOCK_MS}ms', true)`,
};

/** Takes the exclusive lock that dropping a table requires anyway. */
const lockCalls: Statement = {
  name: 'retention.lock-calls',
  text: 'lock table only calls in access exclusive mode',
};

/** Locks the records. @throws a lock timeout (`isLockTimeout`) if other transactions keep their locks */
export async function lockRecords(transaction: PartitionQueryable): Promise<void> {
  await transaction.query(limitLocks);
  await transaction.query(lockCalls);
}

/** Deletes the sums by caller until the end of a month: they contain values of its records. Uses usage_callers_by_day. */
export const deleteCallerSums: Statement = {
  name: 'retention.delete-caller-sums',
  text: `delete from usage_callers where day < ($1::date + interval '1 month')::date`,
};

export const dropTable = (month: Month): Statement => ({
  name: `retention.drop-${monthTableName(month)}`,
  text: `drop table ${monthTableName(month)}`,
});
