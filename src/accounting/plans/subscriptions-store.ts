import { columnsOf } from '../../db/columns.ts';
import { type Lane, type Queryable, type Statement, toArray } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import { nowSql } from '../database-time.ts';
import type { PlanTerms } from './plan.ts';

/** The SQL of subscriptions as people see them: granted, renewed, canceled, read. */

export interface Subscription {
  readonly id: string;
  readonly accountId: string;
  readonly planId: string;
  /** The anchor of its weeks and periods. */
  readonly startsAt: Date;
  readonly endsAt: Date;
  readonly canceledAt: Date | null;
  readonly createdAt: Date;
}

/** A subscription with its counters as they are stored: each names the week or the period that it counts. */
export interface SubscriptionState {
  readonly planId: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  /** Calls in the five hours before the instant. */
  readonly fiveHourCalls: number;
  /** Where these are as many as the plan allows, or more: when the window has room again. */
  readonly fiveHourFreeAtMs: number | null;
  readonly weekNo: number;
  readonly weekCalls: number;
  readonly periodNo: number;
  readonly periodTokens: number;
  readonly inFlight: number;
}

interface SubscriptionRow {
  id: string;
  account_id: string;
  plan_id: string;
  starts_at: Date;
  ends_at: Date;
  canceled_at: Date | null;
  created_at: Date;
}

const COLUMNS = 'id, account_id, plan_id, starts_at, ends_at, canceled_at, created_at';

/** A transaction that changes anything of an account locks its row of `balances` first. Plan: primary key. */
const lockAccount: Statement = {
  name: 'plans.lock-account',
  text: 'select from balances where account_id = $1 for update',
};

/** Only where no other subscription of the account overlaps. Plan: primary key, by account. */
const insertSubscription: Statement = {
  name: 'plans.insert-subscription',
  text: `insert into subscriptions (account_id, id, plan_id, starts_at, ends_at, created_at)
select $1, $2, $3, $4::timestamptz, $5::timestamptz, $6::timestamptz
where not exists (
  select from subscriptions
  where account_id = $1 and canceled_at is null and starts_at < $5::timestamptz and ends_at > $4::timestamptz
)
returning ${COLUMNS}`,
};

/** Longer by a period, with the same anchor; not where the next subscription of the account begins before that. */
const renewSubscription: Statement = {
  name: 'plans.renew-subscription',
  text: `update subscriptions s set ends_at = $4::timestamptz
where s.account_id = $1 and s.id = $2 and s.canceled_at is null and s.ends_at = $3::timestamptz and not exists (
  select from subscriptions other
  where other.account_id = $1 and other.id <> $2 and other.canceled_at is null
    and other.starts_at < $4::timestamptz and other.ends_at > s.starts_at
)
returning ${COLUMNS}`,
};

const cancelSubscription: Statement = {
  name: 'plans.cancel-subscription',
  text: `update subscriptions set canceled_at = coalesce(canceled_at, $3::timestamptz)
where account_id = $1 and id = $2
returning ${COLUMNS}`,
};

/** By the unique index subscriptions_by_id. */
const selectSubscription: Statement = {
  name: 'plans.select-subscription',
  text: `select ${COLUMNS} from subscriptions where id = $1`,
};

/** Newest first: ids sort by time. Walks the primary key backwards. */
const listSubscriptions: Statement = {
  name: 'plans.list-subscriptions',
  text: `select ${COLUMNS} from subscriptions
where account_id = $1 and ($2::text is null or id < $2) order by id desc limit $3::int`,
};

/** Plan: primary keys. */
const selectRequest: Statement = {
  name: 'plans.select-request',
  text: `select r.request, ${COLUMNS.split(', ')
    .map((column) => `s.${column}`)
    .join(', ')}
from subscription_requests r join subscriptions s on s.account_id = r.account_id and s.id = r.subscription_id
where r.account_id = $1 and r.idempotency_key = $2`,
};

const insertRequest: Statement = {
  name: 'plans.insert-request',
  text: `insert into subscription_requests (account_id, idempotency_key, request, subscription_id, created_at)
values ($1, $2, $3, $4, clock_timestamp())`,
};

/**
 * The subscription that is active at an instant and what of it is used, else the one that ended last or begins next, for the
 * reason why none is active. Of a full window also the slot whose end gives it room. Plan: primary key; plan_slots_by_time for
 * the slots that are over but not deleted yet, and for the oldest of the others.
 */
const selectState: Statement = {
  name: 'plans.select-state',
  text: `select s.plan_id, s.starts_at, s.ends_at, s.week_no, s.week_calls, s.period_no, s.period_tokens, s.in_flight,
  lapsed.five_hour_calls, freeing.taken_at + interval '5 hours' as five_hour_free_at
from (
  select * from subscriptions
  where account_id = $1 and canceled_at is null
  order by (starts_at <= $2::timestamptz and ends_at > $2::timestamptz) desc, ends_at desc
  limit 1
) s
cross join lateral (
  select s.slots - count(*) as five_hour_calls from plan_slots
  where plan_slots.account_id = s.account_id and plan_slots.subscription_id = s.id
    and plan_slots.taken_at <= $2::timestamptz - interval '5 hours'
) lapsed
left join unnest($3::text[], $4::bigint[]) as p (plan_id, five_hour_limit) on p.plan_id = s.plan_id
left join lateral (
  select taken_at from plan_slots
  where plan_slots.account_id = s.account_id and plan_slots.subscription_id = s.id
    and plan_slots.taken_at > $2::timestamptz - interval '5 hours'
  order by taken_at offset greatest(lapsed.five_hour_calls - p.five_hour_limit, 0) limit 1
) freeing on lapsed.five_hour_calls >= p.five_hour_limit`,
};

/** Each plan is counted up to a number. Plan: subscriptions_by_plan. */
const countActive: Statement = {
  name: 'plans.count-active',
  text: `select p.plan_id, (
  select count(*) from (
    select from subscriptions s
    where s.plan_id = p.plan_id and s.canceled_at is null and s.ends_at > $2::timestamptz and s.starts_at <= $2::timestamptz
    limit $3::int
  ) active
) as active
from unnest($1::text[]) as p (plan_id)`,
};

const LOCK_NOT_AVAILABLE = '55P03';

/** How long an ended subscription keeps its slots: far longer than the five-hour window. */
const PAST = `${nowSql('$1')} - interval '1 day'`;

const FORGOTTEN_SUBSCRIPTIONS_MAX = 100;
const FORGOTTEN_SLOTS_MAX = 500;

/** Housekeeping, over all accounts, of which there are as many as were ever sold. Walks the primary key from the last one on. */
const listPastSlots: Statement = {
  name: 'plans.list-past-slots',
  text: `select account_id, id from subscriptions
where slots > 0 and (ends_at < ${PAST} or canceled_at < ${PAST}) and (account_id, id) > ($2::text, $3::text)
order by account_id, id limit ${FORGOTTEN_SUBSCRIPTIONS_MAX}`,
};

/** As `lockAccount`, where nobody else has the row. */
const lockFreeAccount: Statement = {
  name: 'plans.lock-free-account',
  text: 'select from balances where account_id = $1 for update skip locked',
};

const selectNow: Statement = {
  name: 'plans.select-now',
  text: 'select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms',
};

/** Slots of a subscription that no admission reads any more, some at a time. Plan: plan_slots_by_time, primary keys. */
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

interface StateRow {
  plan_id: string;
  starts_at: Date;
  ends_at: Date;
  week_no: bigint;
  week_calls: bigint;
  period_no: bigint;
  period_tokens: bigint;
  in_flight: bigint;
  five_hour_calls: bigint;
  five_hour_free_at: Date | null;
}

export interface NewSubscription {
  readonly accountId: string;
  readonly id: string;
  readonly planId: string;
  readonly startsAt: Date;
  readonly endsAt: Date;
  readonly at: Date;
}

/** A grant or a renewal that may come again. */
export interface KeyedRequest {
  readonly idempotencyKey: string;
  /** What is asked for, as text that is equal for equal requests. */
  readonly request: string;
}

/** The idempotency key was used for another grant or renewal of the account. */
export class OtherRequestError extends Error {
  constructor() {
    super('the idempotency key was used for another request');
    this.name = 'OtherRequestError';
  }
}

/** What a plan allows in five hours. */
export type WindowLimit = Pick<PlanTerms, 'id' | 'fiveHourCalls'>;

export interface SubscriptionStore {
  /**
   * `null` where the account has another subscription in that time, or does not exist. A repeat of a keyed request grants
   * nothing and returns the subscription of the first one, as it is now.
   *
   * @throws OtherRequestError
   */
  grant(subscription: NewSubscription, keyed?: KeyedRequest | null): Promise<Subscription | null>;
  /**
   * Moves the end; `null` where another subscription overlaps, or where this one is canceled or its end is not `from`. A
   * repeat of a keyed request moves nothing and returns the subscription as it is now.
   *
   * @throws OtherRequestError
   */
  renew(accountId: string, id: string, from: Date, to: Date, keyed?: KeyedRequest | null): Promise<Subscription | null>;
  /**
   * The subscription of a keyed request that was carried out, as it is now; `null` where it is the first one.
   *
   * @throws OtherRequestError
   */
  findRepeated(accountId: string, keyed: KeyedRequest): Promise<Subscription | null>;
  cancel(accountId: string, id: string, at: Date): Promise<Subscription | null>;
  find(id: string): Promise<Subscription | null>;
  list(accountId: string, beforeId: string | null, limit: number): Promise<Subscription[]>;
  /**
   * Deletes the slots of subscriptions that are over for a day, in batches. Returns false where somebody else had locked rows
   * of some accounts, whose slots are left. `nowMs`: for tests, in place of the database's clock. Ends after a batch once the
   * signal has aborted.
   */
  forgetSlots(nowMs: number | null, signal?: AbortSignal): Promise<boolean>;
  /** The database's clock, by which subscriptions begin and end. */
  nowMs(): Promise<number>;
  /** How many subscriptions of each plan are active at an instant; where there are more, `max`. */
  countActive(planIds: readonly string[], now: Date, max: number): Promise<ReadonlyMap<string, number>>;
  /** `null` where the account has no subscription, or only canceled ones. */
  findState(accountId: string, now: Date, plans?: readonly WindowLimit[]): Promise<SubscriptionState | null>;
}

export function createSubscriptionStore(database: Lane): SubscriptionStore {
  /** The account's row is locked first, so that a repeat that races the first request finds it. */
  const changed = (
    accountId: string,
    statement: Statement,
    parameters: readonly (string | Date)[],
    keyed: KeyedRequest | null = null,
  ) =>
    database.transaction(async (transaction) => {
      await transaction.query(lockAccount, [accountId]);
      const repeated = keyed && (await findRepeated(transaction, accountId, keyed));
      if (repeated) return repeated;
      const [row] = await transaction.query<SubscriptionRow>(statement, [accountId, ...parameters]);
      if (row === undefined) return null;
      if (keyed !== null) {
        await transaction.query(insertRequest, [accountId, keyed.idempotencyKey, keyed.request, row.id]);
      }
      return toSubscription(row);
    });
  /** Returns whether they are all gone. */
  async function forgetSlotsOf(accountId: string, id: string, signal?: AbortSignal): Promise<boolean> {
    for (;;) {
      const left = await database
        .transaction(async (transaction) => {
          const free = await transaction.query(lockFreeAccount, [accountId]);
          if (free.length === 0) return null;
          const [row] = await transaction.query<{ slots: bigint }>(deletePastSlots, [accountId, id]);
          return row!.slots;
        })
        .catch((error: unknown) => {
          if (sqlState(error) === LOCK_NOT_AVAILABLE) return null;
          throw error;
        });
      if (left === null) return false;
      if (left <= 0n || signal?.aborted) return true;
    }
  }

  return {
    grant: ({ accountId, id, planId, startsAt, endsAt, at }, keyed) =>
      changed(accountId, insertSubscription, [id, planId, startsAt, endsAt, at], keyed),
    renew: (accountId, id, from, to, keyed) => changed(accountId, renewSubscription, [id, from, to], keyed),
    findRepeated: (accountId, keyed) => findRepeated(database, accountId, keyed),
    cancel: (accountId, id, at) => changed(accountId, cancelSubscription, [id, at]),
    async find(id) {
      const [row] = await database.query<SubscriptionRow>(selectSubscription, [id]);
      return row === undefined ? null : toSubscription(row);
    },
    async list(accountId, beforeId, limit) {
      const rows = await database.query<SubscriptionRow>(listSubscriptions, [accountId, beforeId, limit]);
      return rows.map(toSubscription);
    },
    async nowMs() {
      const [row] = await database.query<{ now_ms: bigint }>(selectNow);
      return Number(row!.now_ms);
    },
    async forgetSlots(nowMs, signal) {
      const now = nowMs === null ? null : new Date(nowMs);
      let isAll = true;
      let last = { account_id: '', id: '' };
      for (let isMore = true; isMore; ) {
        const past = await database.query<typeof last>(listPastSlots, [now, last.account_id, last.id]);
        for (const { account_id: accountId, id } of past) {
          if (signal?.aborted) return isAll;
          isAll = (await forgetSlotsOf(accountId, id, signal)) && isAll;
        }
        isMore = past.length === FORGOTTEN_SUBSCRIPTIONS_MAX;
        last = past.at(-1) ?? last;
      }
      return isAll;
    },
    async countActive(planIds, now, max) {
      const rows = await database.query<{ plan_id: string; active: bigint }>(countActive, [toArray(planIds), now, max]);
      return new Map(rows.map((row) => [row.plan_id, Number(row.active)]));
    },
    async findState(accountId, now, plans = []) {
      const limits = columnsOf(
        plans,
        (plan) => plan.id,
        (plan) => plan.fiveHourCalls,
      );
      const [row] = await database.query<StateRow>(selectState, [accountId, now, ...limits]);
      if (row === undefined) return null;
      return {
        planId: row.plan_id,
        startsAtMs: row.starts_at.getTime(),
        endsAtMs: row.ends_at.getTime(),
        fiveHourCalls: Number(row.five_hour_calls),
        fiveHourFreeAtMs: row.five_hour_free_at?.getTime() ?? null,
        weekNo: Number(row.week_no),
        weekCalls: Number(row.week_calls),
        periodNo: Number(row.period_no),
        periodTokens: Number(row.period_tokens),
        inFlight: Number(row.in_flight),
      };
    },
  };
}

async function findRepeated(
  queryable: Queryable,
  accountId: string,
  { idempotencyKey, request }: KeyedRequest,
): Promise<Subscription | null> {
  const [row] = await queryable.query<SubscriptionRow & { request: string }>(selectRequest, [
    accountId,
    idempotencyKey,
  ]);
  if (row === undefined) return null;
  if (row.request !== request) throw new OtherRequestError();
  return toSubscription(row);
}

function toSubscription(row: SubscriptionRow): Subscription {
  return {
    id: row.id,
    accountId: row.account_id,
    planId: row.plan_id,
    startsAt: row.starts_at,
    endsAt: row.ends_at,
    canceledAt: row.canceled_at,
    createdAt: row.created_at,
  };
}
