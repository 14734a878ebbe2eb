import { type Database, type Statement, toArray } from '../db/database.ts';
import type { PlanTerms } from './plan.ts';

/** The subscription of an account that is active at an instant, and what of it is used. */
export interface ActiveSubscription {
  readonly planId: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  readonly fiveHourCalls: number;
  /** When the slot was taken that has to be given back first; `null` where the window has room. */
  readonly slotTakenAtMs: number | null;
  readonly weekNo: number;
  readonly weekCalls: number;
  readonly periodNo: number;
  readonly periodTokens: number;
}

/** What coding calls of an account stand on. */
export interface PlanStanding {
  readonly active: ActiveSubscription | null;
  /** Whether another one is over. */
  readonly hasPast: boolean;
}

/**
 * Plan: subscriptions by primary key; plan_slots by plan_slots_by_time, for the slots that are over but not deleted yet, and
 * for the one that an exhausted window waits for.
 */
const selectStandings: Statement = {
  name: 'plans.select-standings',
  text: `with asked as (
  select distinct account_id from unnest($1::text[]) as a (account_id)
),
plan as (
  select * from unnest($3::text[], $4::bigint[]) as p (id, five_hour_calls)
)
select asked.account_id, s.plan_id, s.starts_at, s.ends_at, s.week_no, s.week_calls, s.period_no, s.period_tokens,
  s.slots - gone.slots as five_hour_calls, oldest.taken_at,
  exists (
    select from subscriptions past
    where past.account_id = asked.account_id and past.canceled_at is null and past.ends_at <= $2::timestamptz
  ) as has_past
from asked
left join subscriptions s on s.account_id = asked.account_id and s.canceled_at is null
  and s.starts_at <= $2::timestamptz and s.ends_at > $2::timestamptz
left join plan on plan.id = s.plan_id
left join lateral (
  select count(*) as slots from plan_slots
  where plan_slots.account_id = s.account_id and plan_slots.subscription_id = s.id
    and plan_slots.taken_at <= $2::timestamptz - interval '5 hours'
) gone on true
left join lateral (
  select taken_at from plan_slots
  where s.slots - gone.slots >= plan.five_hour_calls and plan_slots.account_id = s.account_id
    and plan_slots.subscription_id = s.id and plan_slots.taken_at > $2::timestamptz - interval '5 hours'
  order by taken_at offset greatest(s.slots - gone.slots - plan.five_hour_calls, 0) limit 1
) oldest on true`,
};

interface StandingRow {
  account_id: string;
  plan_id: string | null;
  starts_at: Date;
  ends_at: Date;
  week_no: bigint;
  week_calls: bigint;
  period_no: bigint;
  period_tokens: bigint;
  five_hour_calls: bigint;
  taken_at: Date | null;
  has_past: boolean;
}

export interface PlanStandingStore {
  /** Of every account asked for. */
  findStandings(
    accountIds: readonly string[],
    plans: readonly PlanTerms[],
    now: Date,
  ): Promise<ReadonlyMap<string, PlanStanding>>;
}

export function createPlanStandingStore(database: Database): PlanStandingStore {
  return {
    async findStandings(accountIds, plans, now) {
      const rows = await database.query<StandingRow>(selectStandings, [
        toArray(accountIds),
        now,
        toArray(plans.map((plan) => plan.id)),
        toArray(plans.map((plan) => plan.fiveHourCalls)),
      ]);
      return new Map(rows.map((row) => [row.account_id, { active: toActive(row), hasPast: row.has_past }]));
    },
  };
}

function toActive(row: StandingRow): ActiveSubscription | null {
  if (row.plan_id === null) return null;
  return {
    planId: row.plan_id,
    startsAtMs: row.starts_at.getTime(),
    endsAtMs: row.ends_at.getTime(),
    fiveHourCalls: Number(row.five_hour_calls),
    slotTakenAtMs: row.taken_at?.getTime() ?? null,
    weekNo: Number(row.week_no),
    weekCalls: Number(row.week_calls),
    periodNo: Number(row.period_no),
    periodTokens: Number(row.period_tokens),
  };
}
