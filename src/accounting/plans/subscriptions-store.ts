import { type Statement, type StoredRow, toArray } from '../../db/database.ts';
import type { PartitionPool, PartitionQueryable, TransactionOverBoth } from '../../db/home-pools.ts';
import { dateColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { sqlTimezone } from '../usage/sql-timezone.ts';
import { forgetPastSlots } from './past-slots-store.ts';
import type { PlanSale } from './plan.ts';
import { findState, type SubscriptionState, type WindowLimit } from './subscription-state-store.ts';

const SUBSCRIPTIONS = selection({
  id: textColumn('id'),
  accountId: textColumn('account_id'),
  planId: textColumn('plan_id'),
  /** Start of the subscription. Weeks and periods are counted from it. */
  startsAt: dateColumn('starts_at'),
  endsAt: dateColumn('ends_at'),
  canceledAt: orNull(dateColumn('canceled_at')),
  createdAt: dateColumn('created_at'),
});

export type Subscription = RowOf<typeof SUBSCRIPTIONS>;

/** Inserts a subscription, unless another one of the account overlaps. */
const insertSubscription: Statement = {
  name: 'plans.insert-subscription',
  text: `insert into subscriptions (account_id, id, plan_id, starts_at, ends_at, created_at)
select $1, $2, $3, $4::timestamptz, $5::timestamptz, $6::timestamptz
where not exists (
  select from subscriptions
  where account_id = $1 and canceled_at is null and starts_at < $5::timestamptz and ends_at > $4::timestamptz
)
returning ${SUBSCRIPTIONS.list}`,
};

/** Extends a subscription without changing its start, unless the next one begins before the new end. */
const renewSubscription: Statement = {
  name: 'plans.renew-subscription',
  text: `update subscriptions s set ends_at = $4::timestamptz
where s.account_id = $1 and s.id = $2 and s.canceled_at is null and s.ends_at = $3::timestamptz and not exists (
  select from subscriptions other
  where other.account_id = $1 and other.id <> $2 and other.canceled_at is null
    and other.starts_at < $4::timestamptz and other.ends_at > s.starts_at
)
returning ${SUBSCRIPTIONS.list}`,
};

const cancelSubscription: Statement = {
  name: 'plans.cancel-subscription',
  text: `update subscriptions set canceled_at = coalesce(canceled_at, $3::timestamptz)
where account_id = $1 and id = $2
returning ${SUBSCRIPTIONS.list}`,
};

const selectRunning: Statement = {
  name: 'plans.select-running',
  text: `select ${SUBSCRIPTIONS.list} from subscriptions
where account_id = $1 and canceled_at is null and starts_at <= $2::timestamptz and ends_at > $2::timestamptz`,
};

const selectSubscription: Statement = {
  name: 'plans.select-subscription',
  text: `select ${SUBSCRIPTIONS.list} from subscriptions where id = $1`,
};

/** Selects subscriptions, newest first, because ids sort by time. Scans the primary key backwards. */
const listSubscriptions: Statement = {
  name: 'plans.list-subscriptions',
  text: `select ${SUBSCRIPTIONS.list} from subscriptions
where account_id = $1 and ($2::text is null or id < $2) order by id desc limit $3::int`,
};

const selectRequest: Statement = {
  name: 'plans.select-request',
  text: `select r.request, ${SUBSCRIPTIONS.of('s')}
from subscription_requests r join subscriptions s on s.account_id = r.account_id and s.id = r.subscription_id
where r.account_id = $1 and r.idempotency_key = $2`,
};

const insertRequest: Statement = {
  name: 'plans.insert-request',
  text: `insert into subscription_requests (account_id, idempotency_key, request, subscription_id, created_at)
values ($1, $2, $3, $4, clock_timestamp())`,
};

/** Inserts a period of at least one day, even if a clock was set back between its start and end. */
const insertPeriod: Statement = {
  name: 'plans.insert-period',
  text: `insert into plan_periods (account_id, subscription_id, starts_at, first_day, days, price_nano, group_id)
select $1, $2, $3::timestamptz, p.first_day, greatest(1, p.next_day - p.first_day), $5::bigint, $7
from (
  select ($3::timestamptz at time zone $6::text)::date as first_day, ($4::timestamptz at time zone $6::text)::date as next_day
) p`,
};

/** Uses the primary key. */
const selectGroup: Statement = {
  name: 'plans.select-group',
  text: 'select group_id from accounts where id = $1::text',
};

/** Counts active subscriptions up to a maximum. Uses subscriptions_by_plan. */
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

const selectNow: Statement = {
  name: 'plans.select-now',
  text: 'select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms',
};

interface NewSubscription {
  readonly accountId: string;
  readonly id: string;
  readonly planId: string;
  readonly startsAt: Date;
  readonly endsAt: Date;
  readonly at: Date;
  readonly sale?: PlanSale | null;
}

export interface KeyedRequest {
  readonly idempotencyKey: string;
  /** Text that is equal for repeats of the same request. */
  readonly request: string;
}

export class OtherRequestError extends Error {
  constructor() {
    super('the idempotency key was used for another request');
    this.name = 'OtherRequestError';
  }
}

export type SubscriptionStore = ReturnType<typeof createSubscriptionStore>;

export function createSubscriptionStore(database: PartitionPool) {
  /** Takes the account's lock, so that a concurrent repeat finds the first request. */
  const changed = (
    accountId: string,
    statement: Statement,
    parameters: readonly (string | Date)[],
    keyed: KeyedRequest | null = null,
    sold: SoldPeriod | null = null,
  ) =>
    database.transactionWithDirectory(async (transaction) => {
      if (!(await lockAccount(transaction, accountId))) return null;
      const repeated = keyed && (await findKeyedSubscription(transaction, accountId, keyed));
      if (repeated) return repeated;
      const subscription = SUBSCRIPTIONS.first(await transaction.query(statement, [accountId, ...parameters]));
      if (subscription === null) return null;
      if (sold !== null) await notePeriod(transaction, subscription, sold);
      if (keyed !== null) {
        await transaction.query(insertRequest, [accountId, keyed.idempotencyKey, keyed.request, subscription.id]);
      }
      return subscription;
    });

  return {
    /** Grants a subscription. Returns `null` if another one overlaps, or the account does not exist. @throws OtherRequestError */
    grant: (
      { accountId, id, planId, startsAt, endsAt, at, sale = null }: NewSubscription,
      keyed?: KeyedRequest | null,
    ): Promise<Subscription | null> =>
      changed(accountId, insertSubscription, [id, planId, startsAt, endsAt, at], keyed, { from: startsAt, sale }),
    /** Renews a subscription. Returns `null` if another overlaps, or it is canceled or does not end at `from`. @throws OtherRequestError */
    renew: (
      accountId: string,
      id: string,
      from: Date,
      to: Date,
      keyed?: KeyedRequest | null,
      sale: PlanSale | null = null,
    ): Promise<Subscription | null> => changed(accountId, renewSubscription, [id, from, to], keyed, { from, sale }),
    findRepeated: (accountId: string, keyed: KeyedRequest): Promise<Subscription | null> =>
      findKeyedSubscription(database, accountId, keyed),
    cancel: (accountId: string, id: string, at: Date): Promise<Subscription | null> =>
      changed(accountId, cancelSubscription, [id, at]),
    find: async (id: string): Promise<Subscription | null> =>
      SUBSCRIPTIONS.first(await database.query(selectSubscription, [id])),
    list: async (accountId: string, beforeId: string | null, limit: number): Promise<Subscription[]> =>
      SUBSCRIPTIONS.all(await database.query(listSubscriptions, [accountId, beforeId, limit])),
    /** The time of the database's clock, which decides when subscriptions begin and end. */
    async nowMs(): Promise<number> {
      const [row] = await database.query<{ now_ms: bigint }>(selectNow);
      return Number(row!.now_ms);
    },
    /** Deletes old slots. Returns false if some remain because of locked accounts. An abort ends it after the current batch. */
    forgetSlots: (nowMs: number | null, signal?: AbortSignal): Promise<boolean> =>
      forgetPastSlots(database, nowMs, signal),
    /** Returns the number of active subscriptions by plan id, counted up to `max`. */
    async countActive(planIds: readonly string[], now: Date, max: number): Promise<ReadonlyMap<string, number>> {
      const rows = await database.query<{ plan_id: string; active: bigint }>(countActive, [toArray(planIds), now, max]);
      return new Map(rows.map((row) => [row.plan_id, Number(row.active)]));
    },
    findState: (accountId: string, now: Date, plans: readonly WindowLimit[] = []): Promise<SubscriptionState | null> =>
      findState(database, accountId, now, plans),
  };
}

interface SoldPeriod {
  readonly from: Date;
  readonly sale: PlanSale | null;
}

/** The revenue of the period belongs to the group that the account has now. */
async function notePeriod(
  transaction: TransactionOverBoth,
  { accountId, id, endsAt }: Subscription,
  { from, sale }: SoldPeriod,
): Promise<void> {
  if (sale === null) return;
  const zone = sqlTimezone(sale.timezone);
  const [account] = await transaction.query<{ group_id: string | null }>(selectGroup, [accountId]);
  const groupId = account?.group_id ?? null;
  await transaction.query(insertPeriod, [accountId, id, from, endsAt, sale.priceNano, zone, groupId]);
}

/** A period that starts now, or at the end of the account's current subscription to the plan. */
interface GrantedPeriod extends Pick<NewSubscription, 'accountId' | 'id' | 'planId' | 'at'> {
  readonly periodMs: number;
  readonly sale: PlanSale | null;
}

/** Grants a period under the account's lock. Changes nothing if another plan is active or another subscription overlaps. */
export async function grantPeriod(
  transaction: TransactionOverBoth,
  { accountId, id, planId, at, periodMs, sale }: GrantedPeriod,
  { idempotencyKey, request }: KeyedRequest,
): Promise<Subscription | 'other_plan' | 'overlapping'> {
  const after = (instant: Date): Date => new Date(instant.getTime() + periodMs);
  const running = SUBSCRIPTIONS.first(await transaction.query(selectRunning, [accountId, at]));
  if (running !== null && running.planId !== planId) return 'other_plan';
  const rows =
    running === null
      ? await transaction.query(insertSubscription, [accountId, id, planId, at, after(at), at])
      : await transaction.query(renewSubscription, [accountId, running.id, running.endsAt, after(running.endsAt)]);
  const granted = SUBSCRIPTIONS.first(rows);
  if (granted === null) return 'overlapping';
  await notePeriod(transaction, granted, { from: running?.endsAt ?? at, sale });
  await transaction.query(insertRequest, [accountId, idempotencyKey, request, granted.id]);
  return granted;
}

/** Returns the subscription that an earlier request with the key created; `null` if there is none. @throws OtherRequestError */
export async function findKeyedSubscription(
  queryable: PartitionQueryable,
  accountId: string,
  { idempotencyKey, request }: KeyedRequest,
): Promise<Subscription | null> {
  const [row] = await queryable.query<StoredRow & { request: string }>(selectRequest, [accountId, idempotencyKey]);
  if (row === undefined) return null;
  if (row.request !== request) throw new OtherRequestError();
  return SUBSCRIPTIONS.read(row);
}
