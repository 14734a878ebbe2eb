import { fieldsOf } from '../../db/columns.ts';
import type { Statement } from '../../db/database.ts';
import type { PartitionQueryable } from '../../db/home-lanes.ts';
import { countColumn, instantColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import { CLOCK_TOLERANCE_MS } from '../counts/counted-since.ts';
import type { PlanTerms } from './plan.ts';

/** The SQL of what is used of a subscription, as people see it. */

/** A subscription with its counters as they are stored: each says when the week or the period began that it counts. */
const STATES = selection({
  planId: textColumn('s.plan_id'),
  startsAtMs: instantColumn('s.starts_at'),
  endsAtMs: instantColumn('s.ends_at'),
  /** Calls in the five hours before the instant. */
  fiveHourCalls: countColumn('lapsed.five_hour_calls'),
  /** When the window has room for one more than now, or at all if it is full; null where it counts no call. */
  fiveHourMoreAtMs: orNull(instantColumn(`freeing.taken_at + interval '5 hours' as five_hour_more_at`)),
  weekBeganAtMs: instantColumn('s.week_began_at'),
  weekCalls: countColumn('s.week_calls'),
  periodBeganAtMs: instantColumn('s.period_began_at'),
  periodTokens: countColumn('s.period_tokens'),
  inFlight: countColumn('s.in_flight'),
});

export type SubscriptionState = RowOf<typeof STATES>;

/** SQL: the last instant that is not ahead (`accounting/counts/counted-since.ts`). */
const AHEAD = `$2::timestamptz + interval '${CLOCK_TOLERANCE_MS} ms'`;

/** What a plan allows in five hours. */
export type WindowLimit = Pick<PlanTerms, 'id' | 'fiveHourCalls'>;

/**
 * The subscription that is active at an instant and what of it is used, else the one that ended last or begins next, for the
 * reason why none is active; and the slot whose end gives the window more room than now. Plan: primary key;
 * plan_slots_by_time for the slots that are over, or lie ahead, but are not deleted yet, and for the oldest of the others.
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
    and (plan_slots.taken_at <= $2::timestamptz - interval '5 hours' or plan_slots.taken_at > ${AHEAD})
) lapsed
left join unnest($3::text[], $4::bigint[]) as p (plan_id, five_hour_limit) on p.plan_id = s.plan_id
left join lateral (
  select taken_at from plan_slots
  where plan_slots.account_id = s.account_id and plan_slots.subscription_id = s.id
    and plan_slots.taken_at > $2::timestamptz - interval '5 hours' and plan_slots.taken_at <= ${AHEAD}
  order by taken_at offset greatest(lapsed.five_hour_calls - p.five_hour_limit, 0) limit 1
) freeing on true`,
};

/** `null` if the account has no subscription, or only canceled ones. */
export async function findState(
  database: PartitionQueryable,
  accountId: string,
  now: Date,
  plans: readonly WindowLimit[],
): Promise<SubscriptionState | null> {
  const limits = fieldsOf(plans, 'id', 'fiveHourCalls');
  return STATES.first(await database.query(selectState, [accountId, now, ...limits]));
}
