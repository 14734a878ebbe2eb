import { type Database, type Queryable, type Statement, toArray } from '../db/database.ts';
import type { HeldCall } from '../lib/two-phase.ts';
import { IS_OF_DEAD_NODE } from '../nodes/dead.ts';
import type { CodingCall, CodingVerdict, EndedCodingCall } from './coding-call.ts';
import type { PlanTerms } from './plan.ts';

/**
 * The SQL of coding calls. Only this file and `subscriptions-store.ts` know their tables.
 *
 * Each batch is a transaction of two statements: the first locks the subscriptions of its accounts in the order of their
 * ids, the second decides. Apart, because a statement that waits for a lock goes on with the view of the slots that it had
 * before: it would not see what the one before it took or gave back.
 */

/** Plan: primary key. What is canceled changes once more for each call that was in flight, and never again after that. */
const lockSubscriptions: Statement = {
  name: 'plans.lock-subscriptions',
  text: `select from subscriptions
where account_id = any ($1::text[]) and (canceled_at is null or in_flight > 0)
order by account_id, id
for update`,
};

/** Seconds in a week, in a day: instants are absolute, so neither knows daylight saving. */
const WEEK_S = 7 * 24 * 3_600;
const DAY_S = 24 * 3_600;

/** Slots that are over and deleted beyond what a batch needs, so that what is left of the window is soon known exactly. */
const SPARE_LAPSED_SLOTS = 64;

/**
 * Admits a batch of coding calls, each by the first check that it fails (design 8). What an account is still entitled to
 * is a prefix of its calls in order of arrival, those that fail by themselves left out. The token quota is reserved like
 * money: a call is measured against what is left after the reservations of all calls before it, not by its own. Where
 * only reservations fill the quota, the call is refused for the calls in flight: their ends may give room.
 *
 * The five-hour window is exact, and as cheap for a limit of 100,000 as for one of 10: slots that are over are deleted
 * as far as this batch can make use of, and a few more, so each is deleted once. Many at a time only where the plan's
 * limit was lowered below what is used.
 *
 * Plan: subscriptions by primary key, plan_slots by plan_slots_by_time from its oldest end, inserts.
 */
const admitCalls: Statement = {
  name: 'plans.admit-calls',
  text: `with request as (
  select * from unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $10::text[], $11::bigint[], $12::text[]
  ) with ordinality as r (
    account_id, call_id, key_id, model, input_bytes, output_tokens, facts, tokens, inner_models, position
  )
),
plan as (
  select * from jsonb_to_recordset($7::jsonb) as p (
    id text, models jsonb, five_hour_calls bigint, weekly_calls bigint, concurrency bigint, quota_tokens bigint,
    period_days bigint, input_bytes_max bigint, output_tokens_max bigint
  )
),
active as (
  select s.account_id, s.id as subscription_id, s.starts_at, s.ends_at, s.slots, s.week_no as stored_week_no, s.week_calls,
    s.period_no as stored_period_no, s.period_tokens, s.period_held_tokens, s.in_flight, p.*,
    greatest(s.week_no, floor(extract(epoch from $8::timestamptz - s.starts_at) / ${WEEK_S})::bigint) as week_now,
    greatest(s.period_no, floor(extract(epoch from $8::timestamptz - s.starts_at) / (${DAY_S} * p.period_days))::bigint)
      as period_now,
    (select count(*) from request where request.account_id = s.account_id)
      + greatest(s.slots - p.five_hour_calls, 0) + ${SPARE_LAPSED_SLOTS} as lapsed_max
  from subscriptions s join plan p on p.id = s.plan_id
  where s.account_id = any ($1::text[]) and s.canceled_at is null
    and s.starts_at <= $8::timestamptz and s.ends_at > $8::timestamptz
),
lapsed as (
  delete from plan_slots using (
    select slot.account_id, slot.call_id
    from active cross join lateral (
      select account_id, call_id from plan_slots
      where plan_slots.account_id = active.account_id and plan_slots.subscription_id = active.subscription_id
        and plan_slots.taken_at <= $8::timestamptz - interval '5 hours'
      order by taken_at
      limit active.lapsed_max
    ) slot
  ) old
  where plan_slots.account_id = old.account_id and plan_slots.call_id = old.call_id
  returning plan_slots.account_id
),
entitled as (
  select active.*, gone.slots as slots_over,
    gone.slots < active.lapsed_max as is_exact, five_hour_calls - (active.slots - gone.slots) as five_hour_left,
    weekly_calls - case when week_now = stored_week_no then week_calls else 0 end as weekly_left,
    quota_tokens - case when period_now = stored_period_no then period_tokens else 0 end as tokens_left,
    case when period_now = stored_period_no then period_held_tokens else 0 end as tokens_held,
    concurrency - in_flight as concurrency_left
  from active cross join lateral (select count(*) as slots from lapsed where lapsed.account_id = active.account_id) gone
),
judged as (
  select request.*, entitled.subscription_id, case
      when entitled.account_id is null and exists (
        select from subscriptions past
        where past.account_id = request.account_id and past.canceled_at is null and past.ends_at <= $8::timestamptz
      ) then 'package_expired'
      when entitled.account_id is null then 'insufficient_package'
      when not entitled.models ? request.model or not coalesce(request.inner_models::jsonb <@ entitled.models, true)
        then 'model_not_in_package'
      when request.input_bytes > entitled.input_bytes_max then 'package_input_too_large'
      when request.output_tokens > entitled.output_tokens_max then 'package_output_limit_exceeded'
    end as fault
  from request left join entitled using (account_id)
),
ranked as (
  select position, account_id, row_number() over (partition by account_id order by position) as rank, coalesce(
      sum(tokens) over (partition by account_id order by position rows between unbounded preceding and 1 preceding), 0
    ) as tokens_ahead
  from judged where fault is null
),
granted as (
  select account_id, subscription_id, week_now, period_now, five_hour_left, weekly_left, tokens_left, concurrency_left,
    slots_over, is_exact, least(
      greatest(least(five_hour_left, weekly_left, concurrency_left), 0),
      (select count(*) from ranked
        where ranked.account_id = entitled.account_id and tokens_ahead < tokens_left - tokens_held)
    ) as calls
  from entitled
),
decided as (
  select judged.*, granted.week_now, granted.period_now, coalesce(judged.fault, case
      when ranked.rank <= granted.calls then 'admitted'
      when granted.calls >= five_hour_left then 'package_5h_quota_exhausted'
      when granted.calls >= weekly_left then 'package_weekly_quota_exhausted'
      when tokens_left <= 0 then 'package_tokens_exhausted'
      else 'package_concurrency_limited'
    end) as verdict,
    case when granted.is_exact then least(five_hour_left, weekly_left) - ranked.rank end as calls_left
  from judged left join ranked using (account_id, position) left join granted using (account_id)
),
held as (
  insert into plan_holds (
    account_id, call_id, subscription_id, week_no, period_no, tokens, key_id, model, node_id, held_at, facts
  )
  select account_id, call_id, subscription_id, week_now, period_now, tokens, key_id, model, $9::text, $8::timestamptz, facts
  from decided where verdict = 'admitted'
),
taken as (
  insert into plan_slots (account_id, subscription_id, call_id, taken_at)
  select account_id, subscription_id, call_id, $8::timestamptz from decided where verdict = 'admitted'
),
moved as (
  update subscriptions s set
    slots = s.slots - granted.slots_over + granted.calls,
    week_calls = case when s.week_no = granted.week_now then s.week_calls else 0 end + granted.calls,
    week_no = granted.week_now,
    period_tokens = case when s.period_no = granted.period_now then s.period_tokens else 0 end,
    period_held_tokens = case when s.period_no = granted.period_now then s.period_held_tokens else 0 end + reserved.tokens,
    period_no = granted.period_now,
    in_flight = s.in_flight + granted.calls
  from granted cross join lateral (
    select coalesce(sum(decided.tokens), 0)::bigint as tokens from decided
    where decided.account_id = granted.account_id and decided.verdict = 'admitted'
  ) reserved
  where s.account_id = granted.account_id and s.id = granted.subscription_id
    and (granted.calls > 0 or granted.slots_over > 0)
)
select decided.verdict, case decided.verdict
    when 'package_5h_quota_exhausted' then coalesce(oldest.taken_at, $8::timestamptz) + interval '5 hours'
    when 'package_weekly_quota_exhausted' then active.starts_at + (active.week_now + 1) * interval '168 hours'
    when 'package_tokens_exhausted' then least(
      active.starts_at + (active.period_now + 1) * active.period_days * interval '24 hours', active.ends_at)
  end as free_at, active.id as plan_id, case when decided.verdict = 'admitted' then decided.calls_left end as calls_left
from decided left join entitled active using (account_id)
left join lateral (
  select taken_at from plan_slots
  where decided.verdict = 'package_5h_quota_exhausted' and plan_slots.account_id = active.account_id
    and plan_slots.subscription_id = active.subscription_id
    and plan_slots.taken_at > $8::timestamptz - interval '5 hours'
  order by taken_at offset greatest(-active.five_hour_left, 0) limit 1
) oldest on true
order by decided.position`,
};

/**
 * Ends a batch of coding calls: their holds go; a call whose success had begun keeps its slot and adds its tokens to the
 * period that it was admitted in, any other gives its slot and its place in the week back. Safe to repeat: a hold that is
 * gone changes nothing.
 *
 * Plan: holds, slots and subscriptions by primary key.
 */
const endCalls: Statement = {
  name: 'plans.end-calls',
  text: `with ended as (
  select * from unnest($1::text[], $2::text[], $3::boolean[], $4::bigint[]) as e (account_id, call_id, counts, tokens)
),
freed as (
  delete from plan_holds using ended
  where plan_holds.account_id = ended.account_id and plan_holds.call_id = ended.call_id
  returning plan_holds.account_id, plan_holds.subscription_id, plan_holds.call_id, plan_holds.week_no,
    plan_holds.period_no, plan_holds.tokens as held_tokens, ended.counts, ended.tokens
),
given_back as (
  delete from plan_slots using freed
  where not freed.counts and plan_slots.account_id = freed.account_id and plan_slots.call_id = freed.call_id
  returning plan_slots.account_id, plan_slots.call_id
),
change as (
  select s.account_id, s.id, count(*) as calls, count(given_back.call_id) as slots,
    count(*) filter (where not freed.counts and freed.week_no = s.week_no) as week_calls,
    coalesce(sum(freed.tokens) filter (where freed.counts and freed.period_no = s.period_no), 0)::bigint as tokens,
    coalesce(sum(freed.held_tokens) filter (where freed.period_no = s.period_no), 0)::bigint as held_tokens
  from freed
  join subscriptions s on s.account_id = freed.account_id and s.id = freed.subscription_id
  left join given_back on given_back.account_id = freed.account_id and given_back.call_id = freed.call_id
  group by s.account_id, s.id
)
update subscriptions s set
  in_flight = s.in_flight - change.calls,
  slots = s.slots - change.slots,
  week_calls = s.week_calls - change.week_calls,
  period_tokens = s.period_tokens + change.tokens,
  period_held_tokens = s.period_held_tokens - change.held_tokens
from change
where s.account_id = change.account_id and s.id = change.id`,
};

/**
 * Housekeeping: slots of subscriptions that ended or were canceled before an instant; no admission looks at them any more.
 * Over all accounts, subscriptions by sequence: there are as many as were ever sold, and this runs once an hour.
 */
const forgetSlots: Statement = {
  name: 'plans.forget-slots',
  text: `with past as (
  select account_id, id from subscriptions
  where slots > 0 and (ends_at < $1::timestamptz or canceled_at < $1::timestamptz)
  order by account_id, id
  for update
),
gone as (
  delete from plan_slots using past
  where plan_slots.account_id = past.account_id and plan_slots.subscription_id = past.id
  returning plan_slots.account_id, plan_slots.subscription_id
)
update subscriptions s set slots = s.slots - change.slots
from (select account_id, subscription_id, count(*) as slots from gone group by account_id, subscription_id) change
where s.account_id = change.account_id and s.id = change.subscription_id`,
};

/** As many rows as there are coding calls in flight: plan_holds and nodes by sequence. */
const listDeadHolds: Statement = {
  name: 'plans.list-dead-holds',
  text: `select account_id, call_id, key_id, model, facts, held_at from plan_holds h
where ${IS_OF_DEAD_NODE}
order by account_id, call_id limit $3::int`,
};

/** A coding call whose node is dead. */
export interface DeadPlanHold extends HeldCall {
  readonly keyId: string;
  readonly model: string;
  /** As it was given at admission. */
  readonly facts: string;
  readonly heldAt: Date;
}

export interface PlanStore {
  /** One verdict a call, in the same order. All or nothing: an error admits none. */
  admitCalls(calls: readonly CodingCall[], terms: AdmissionTerms): Promise<CodingVerdict[]>;
  endCalls(calls: readonly EndedCodingCall[]): Promise<void>;
  /** Coding calls of nodes other than this one that were not heard for so long; the first `limit` of them. */
  listDeadHolds(selfId: string, deadAfterMs: number, limit: number): Promise<DeadPlanHold[]>;
  /** Forgets the five-hour windows of subscriptions that were over before an instant. */
  forgetSlots(before: Date): Promise<void>;
}

export interface AdmissionTerms {
  readonly plans: readonly PlanTerms[];
  readonly now: Date;
  readonly nodeId: string;
}

interface PlanHoldRow {
  account_id: string;
  call_id: string;
  key_id: string;
  model: string;
  facts: string;
  held_at: Date;
}

interface VerdictRow {
  verdict: CodingVerdict['code'];
  free_at: Date | null;
  plan_id: string | null;
  calls_left: bigint | null;
}

export function createPlanStore(database: Database): PlanStore {
  const locked = <Result>(accountIds: string, work: (transaction: Queryable) => Promise<Result>): Promise<Result> =>
    database.transaction(async (transaction) => {
      await transaction.query(lockSubscriptions, [accountIds]);
      return work(transaction);
    });

  return {
    async admitCalls(calls, { plans, now, nodeId }) {
      const accountIds = toArray(calls.map((call) => call.accountId));
      const rows = await locked(accountIds, (transaction) =>
        transaction.query<VerdictRow>(admitCalls, [
          accountIds,
          toArray(calls.map((call) => call.callId)),
          toArray(calls.map((call) => call.keyId)),
          toArray(calls.map((call) => call.model)),
          toArray(calls.map((call) => call.inputBytes)),
          toArray(calls.map((call) => call.outputTokensRequested)),
          plansText(plans),
          now,
          nodeId,
          toArray(calls.map((call) => call.facts)),
          toArray(calls.map((call) => call.reservedTokens)),
          toArray(calls.map(({ innerModels }) => (innerModels.length === 0 ? null : JSON.stringify(innerModels)))),
        ]),
      );
      return rows.map(({ verdict, free_at, plan_id, calls_left }) => ({
        code: verdict,
        freeAtMs: free_at?.getTime() ?? null,
        planId: plan_id,
        callsLeft: calls_left === null ? null : Number(calls_left),
      }));
    },
    async endCalls(calls) {
      const accountIds = toArray(calls.map((call) => call.accountId));
      await locked(accountIds, (transaction) =>
        transaction.query(endCalls, [
          accountIds,
          toArray(calls.map((call) => call.callId)),
          toArray(calls.map((call) => call.counts)),
          toArray(calls.map((call) => call.tokens)),
        ]),
      );
    },
    async forgetSlots(before) {
      await database.query(forgetSlots, [before]);
    },
    async listDeadHolds(selfId, deadAfterMs, limit) {
      const rows = await database.query<PlanHoldRow>(listDeadHolds, [selfId, deadAfterMs, limit]);
      return rows.map((row) => ({
        accountId: row.account_id,
        callId: row.call_id,
        keyId: row.key_id,
        model: row.model,
        facts: row.facts,
        heldAt: row.held_at,
      }));
    },
  };
}

/** Plans belong to the configuration and recur in every batch, so their text is kept as long as they live. */
const planTexts = new WeakMap<readonly PlanTerms[], string>();

function plansText(plans: readonly PlanTerms[]): string {
  let text = planTexts.get(plans);
  if (text === undefined) {
    text = JSON.stringify(
      plans.map((plan) => ({
        id: plan.id,
        models: [...plan.models],
        five_hour_calls: plan.fiveHourCalls,
        weekly_calls: plan.weeklyCalls,
        concurrency: plan.concurrency,
        quota_tokens: plan.quotaTokens,
        period_days: plan.periodDays,
        input_bytes_max: plan.inputBytesMax,
        output_tokens_max: plan.outputTokensMax,
      })),
    );
    planTexts.set(plans, text);
  }
  return text;
}
