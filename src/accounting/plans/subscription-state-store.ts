import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-pools.ts';
import { countColumn, instantColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import { CLOCK_TOLERANCE_MS } from '../counts/counted-since.ts';
import type { PlanTerms } from './plan.ts';

const STATES = selection({
  planId: textColumn('s.plan_id'),
  startsAtMs: instantColumn('s.starts_at'),
  endsAtMs: instantColumn('s.ends_at'),
  /** Number of calls in the last five hours. */
  fiveHourCalls: countColumn('lapsed.five_hour_calls'),
  /** When the five-hour window allows one more call than now, or again allows a call if it is full; `null`: it counts no call. */
  fiveHourMoreAtMs: orNull(instantColumn(`freeing.taken_at + interval '5 hours' as five_hour_more_at`)),
  weekBeganAtMs: instantColumn('s.week_began_at'),
  weekCalls: countColumn('s.week_calls'),
  periodBeganAtMs: instantColumn('s.period_began_at'),
  periodTokens: countColumn('s.period_tokens'),
  inFlight: countColumn('s.in_flight'),
});

export type SubscriptionState = RowOf<typeof STATES>;

/** SQL: the last instant that does not count as being in the future (`accounting/counts/counted-since.ts`). */
const FUTURE_AFTER = `$2::timestamptz + interval '${CLOCK_TOLERANCE_MS} ms'`;

export type WindowLimit = Pick<PlanTerms, 'id' | 'fiveHourCalls'>;

/**
 * Selects the active subscription, or else the one that ended last or begins next, for the error message. Also selects the slot whose
 * expiry next adds capacity. Uses the primary key, and plan_slots_by_time for expired and future slots, and for the oldest other slot.
 */
const selectState: Statement = {
  name: 'plans.select-state',
  text: `select ${STATES.list}
from (
  select * from subscriptions
  where account_id = $1 and canceled_at is null
  order by (starts_at <= $2::timestamptz and ends_at > $2::timestamptz) desc, ends_at desc
  limit 1
) s
cross join lateral (
  select s.slots - count(*) as five_hour_calls from plan_slots
  where plan_slots.account_id = s.account_id and plan_slots.subscription_id = s.id
    and (plan_slots.taken_at <= $2::timestamptz - interval '5 hours' or plan_slots.taken_at > ${FUTURE_AFTER})
) lapsed
left join unnest($3::text[], $4::bigint[]) as p (plan_id, five_hour_limit) on p.plan_id = s.plan_id
left join lateral (
  select taken_at from plan_slots
  where plan_slots.account_id = s.account_id and plan_slots.subscription_id = s.id
    and plan_slots.taken_at > $2::timestamptz - interval '5 hours' and plan_slots.taken_at <= ${FUTURE_AFTER}
  order by taken_at offset greatest(lapsed.five_hour_calls - p.five_hour_limit, 0) limit 1
) freeing on true`,
};

/** Returns the state of an account's plan; `null` if the account has no subscription, or only canceled ones. */
export async function findState(
  database: PartitionQueryable,
  accountId: string,
  now: Date,
  plans: readonly WindowLimit[],
): Promise<SubscriptionState | null> {
  const limits = fieldsOf(plans, 'id', 'fiveHourCalls');
  return STATES.first(await database.query(selectState, [accountId, now, ...limits]));
}
