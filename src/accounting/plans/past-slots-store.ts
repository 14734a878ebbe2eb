import type { Statement } from '../../db/database.ts';
import { nowSql } from '../../db/database-time.ts';
import { isLockTimeout } from '../../db/errors.ts';
import type { PartitionPool } from '../../db/home-pools.ts';

/** SQL: slots before this are deleted. They are kept far longer than the five-hour window needs. */
const PAST = `${nowSql('$1')} - interval '1 day'`;

const FORGOTTEN_SUBSCRIPTIONS_MAX = 100;
const FORGOTTEN_SLOTS_MAX = 500;

/** Selects subscriptions that still have slots, of all accounts. Scans the primary key in pages. */
const listPastSlots: Statement = {
  name: 'plans.list-past-slots',
  text: `select account_id, id from subscriptions
where slots > 0 and (ends_at < ${PAST} or canceled_at < ${PAST}) and (account_id, id) > ($2::text, $3::text)
order by account_id, id limit ${FORGOTTEN_SUBSCRIPTIONS_MAX}`,
};

/** Locks an account like `lockAccount`, unless another transaction has locked it. */
const lockFreeAccount: Statement = {
  name: 'plans.lock-free-account',
  text: 'select from balances where account_id = $1 for update skip locked',
};

/** Deletes slots that are too old for every admission. Uses plan_slots_by_time and primary keys. */
const deletePastSlots: Statement = {
  name: 'plans.delete-past-slots',
  text: `with past as (
  select account_id, call_id from plan_slots where account_id = $1 and subscription_id = $2
  order by taken_at limit ${FORGOTTEN_SLOTS_MAX}
),
gone as (
  delete from plan_slots p using past where p.account_id = past.account_id and p.call_id = past.call_id returning 1
)
update subscriptions set slots = slots - (select count(*) from gone) where account_id = $1 and id = $2
returning slots`,
};

export async function forgetPastSlots(
  database: PartitionPool,
  nowMs: number | null,
  signal?: AbortSignal,
): Promise<boolean> {
  const now = nowMs === null ? null : new Date(nowMs);
  let isAll = true;
  let last = { account_id: '', id: '' };
  for (let isMore = true; isMore; ) {
    const past = await database.query<typeof last>(listPastSlots, [now, last.account_id, last.id]);
    for (const { account_id: accountId, id } of past) {
      if (signal?.aborted) return isAll;
      isAll = (await forgetSlotsOf(database, accountId, id, signal)) && isAll;
    }
    isMore = past.length === FORGOTTEN_SUBSCRIPTIONS_MAX;
    last = past.at(-1) ?? last;
  }
  return isAll;
}

/** Deletes old slots of a subscription. Returns false if the account is locked. */
async function forgetSlotsOf(
  database: PartitionPool,
  accountId: string,
  id: string,
  signal?: AbortSignal,
): Promise<boolean> {
  for (;;) {
    const left = await database
      .transaction(async (transaction) => {
        const free = await transaction.query(lockFreeAccount, [accountId]);
        if (free.length === 0) return null;
        const [row] = await transaction.query<{ slots: bigint }>(deletePastSlots, [accountId, id]);
        return row!.slots;
      })
      .catch((error: unknown) => {
        if (isLockTimeout(error)) return null;
        throw error;
      });
    if (left === null) return false;
    if (left <= 0n || signal?.aborted) return true;
  }
}
