import { columnsOf, toTimestamp, writeRows } from '../../db/columns.ts';
import { type Query, type Statement, toArray } from '../../db/database.ts';
import type { Answer, Reads } from '../../db/reads.ts';
import type { AccountState, KeyState, MoneyState, Slot, SubscriptionState } from './account-state.ts';

/**
 * The SQL of what limits accounts, for every transaction that changes any of it: admissions, ends and releases. Each locks
 * the rows of its accounts in `balances` first, in the order of ids; what is read after that is current, and nothing else
 * needs a lock.
 */

const MONEY_COLUMNS = 'account_id, balance_nano, reserved_nano, daily_cap_nano, spent_on, spent_nano, last_entry_no';

/** Locked in one order: otherwise two nodes could deadlock. Plan: primary key. */
export const lockBalances: Statement = {
  name: 'reservations.lock-balances',
  text: `select ${MONEY_COLUMNS} from balances where account_id = any ($1::text[]) order by account_id for update`,
};

/** Plan: primary key. */
export const readBalances: Statement = {
  name: 'reservations.read-balances',
  text: `select ${MONEY_COLUMNS} from balances where account_id = any ($1::text[])`,
};

export interface BalanceRow {
  account_id: string;
  balance_nano: bigint;
  reserved_nano: bigint;
  daily_cap_nano: bigint | null;
  spent_on: string;
  spent_nano: bigint;
  last_entry_no: bigint;
}

/** Plan: primary key. */
const readKeys: Statement = {
  name: 'reservations.read-keys',
  text: `select l.account_id, l.key_id, l.daily_spend_cap_nano, l.daily_calls_max, l.concurrency_max, l.day, l.spent_nano,
  l.calls, l.reserved_nano, l.in_flight
from unnest($1::text[], $2::text[]) as k (account_id, key_id)
join key_limits l on l.account_id = k.account_id and l.key_id = k.key_id`,
};

export interface KeyRow {
  account_id: string;
  key_id: string;
  daily_spend_cap_nano: bigint | null;
  daily_calls_max: bigint | null;
  concurrency_max: bigint | null;
  day: string;
  spent_nano: bigint;
  calls: bigint;
  reserved_nano: bigint;
  in_flight: bigint;
}

/** As columns of `s`, for every statement that reads subscriptions for a decision. */
export const SUBSCRIPTION_COLUMNS = `s.account_id, s.id, s.plan_id, s.starts_at, s.ends_at, s.slots, s.week_no, s.week_calls,
  s.period_no, s.period_tokens, s.period_reserved_tokens, s.in_flight`;

/** Of each account the one that began last: subscriptions do not overlap. Plan: primary key, by account. */
const readCurrentSubscriptions: Statement = {
  name: 'reservations.read-current-subscriptions',
  text: `select distinct on (s.account_id) ${SUBSCRIPTION_COLUMNS} from subscriptions s
where s.account_id = any ($1::text[]) and s.canceled_at is null and s.starts_at <= $2::timestamptz
order by s.account_id, s.ends_at desc`,
};

export interface SubscriptionRow {
  account_id: string;
  id: string;
  plan_id: string;
  starts_at: Date;
  ends_at: Date;
  slots: bigint;
  week_no: bigint;
  week_calls: bigint;
  period_no: bigint;
  period_tokens: bigint;
  period_reserved_tokens: bigint;
  in_flight: bigint;
}

/** Slots that are over and deleted beyond what a batch needs, so that the count of slots is soon exact. */
const SPARE_LAPSED_SLOTS = 64;

/**
 * The oldest slots of the active subscriptions: those that are over, as far as the batch can make use of them, and where
 * the window may get full, those that it has to wait for. Many at a time only where the plan's limit was lowered below what
 * is used. Plan: subscriptions by primary key, plan_slots by plan_slots_by_time from its oldest end.
 */
const readOldestSlots: Statement = {
  name: 'reservations.read-oldest-slots',
  text: `select s.account_id, s.id as subscription_id, slot.call_id, slot.taken_at,
  ($5::int + ${SPARE_LAPSED_SLOTS} + greatest(s.slots - p.five_hour_calls, 0)) as read_max
from subscriptions s
join unnest($3::text[], $4::bigint[]) as p (plan_id, five_hour_calls) on p.plan_id = s.plan_id
cross join lateral (
  select call_id, taken_at from plan_slots
  where plan_slots.account_id = s.account_id and plan_slots.subscription_id = s.id
    and plan_slots.taken_at <= case when s.slots + $5::int > p.five_hour_calls then 'infinity'::timestamptz
      else $2::timestamptz - interval '5 hours' end
  order by taken_at
  limit $5::int + ${SPARE_LAPSED_SLOTS} + greatest(s.slots - p.five_hour_calls, 0)
) slot
where s.account_id = any ($1::text[]) and s.canceled_at is null
  and s.starts_at <= $2::timestamptz and s.ends_at > $2::timestamptz`,
};

interface SlotRow {
  account_id: string;
  subscription_id: string;
  call_id: string;
  taken_at: Date;
  read_max: bigint;
}

/** The accounts and keys that an admission reads. */
export interface AskedAccounts {
  readonly accountIds: readonly string[];
  /** Keys with limits. */
  readonly keys: readonly { readonly accountId: string; readonly keyId: string }[];
  /** Accounts whose plans are read, and how many calls of one of them there are at most. */
  readonly planAccountIds: readonly string[];
  readonly callsOfAccountMax: number;
  readonly plans: Iterable<{ readonly id: string; readonly fiveHourCalls: number }>;
  readonly nowMs: number;
}

/** Adds the reads of an admission or a look; returns a function that makes states of their rows. */
export function addAccountReads(
  reads: Reads,
  balances: Statement,
  asked: AskedAccounts,
): (rows: readonly (readonly unknown[])[]) => Map<string, AccountState> {
  const { accountIds, keys, planAccountIds, callsOfAccountMax, nowMs } = asked;
  const isOnPlan = planAccountIds.length > 0;
  const plans = isOnPlan ? [...asked.plans] : [];
  const planIds = toArray(planAccountIds);
  const now = toTimestamp(nowMs);
  const money = reads.add<BalanceRow>(balances, [toArray(accountIds)]);
  const keyColumns = columnsOf(
    keys,
    (key) => key.accountId,
    (key) => key.keyId,
  );
  const keyRows = reads.addIf<KeyRow>(keys.length > 0, readKeys, keyColumns);
  const current = reads.addIf<SubscriptionRow>(isOnPlan, readCurrentSubscriptions, [planIds, now]);
  const slots = reads.addIf<SlotRow>(isOnPlan, readOldestSlots, [
    planIds,
    now,
    ...columnsOf(
      plans,
      (plan) => plan.id,
      (plan) => plan.fiveHourCalls,
    ),
    callsOfAccountMax,
  ]);
  return (rows) => {
    const accounts = toAccounts(money, rows);
    for (const row of keyRows(rows)) accounts.get(row.account_id)?.keys.set(row.key_id, toKey(row));
    const slotsOf = Map.groupBy(slots(rows), (row) => row.subscription_id);
    for (const row of current(rows)) {
      const account = accounts.get(row.account_id);
      if (account === undefined) continue;
      account.currentSubscriptionId = row.id;
      account.subscriptions.set(row.id, toSubscription(row, slotsOf.get(row.id) ?? []));
    }
    return accounts;
  };
}

export function toAccounts(
  money: Answer<BalanceRow>,
  rows: readonly (readonly unknown[])[],
): Map<string, AccountState> {
  return new Map(money(rows).map((row) => [row.account_id, toAccount(row)]));
}

function toAccount(row: BalanceRow): AccountState {
  return {
    accountId: row.account_id,
    money: {
      balanceNano: row.balance_nano,
      reservedNano: row.reserved_nano,
      dailyCapNano: row.daily_cap_nano,
      spentOn: row.spent_on,
      spentNano: row.spent_nano,
      lastEntryNo: row.last_entry_no,
    },
    subscriptions: new Map(),
    currentSubscriptionId: null,
    keys: new Map(),
  };
}

export function toKey(row: KeyRow): KeyState {
  return {
    keyId: row.key_id,
    dailySpendCapNano: row.daily_spend_cap_nano,
    dailyCallsMax: row.daily_calls_max === null ? null : Number(row.daily_calls_max),
    concurrencyMax: row.concurrency_max === null ? null : Number(row.concurrency_max),
    day: row.day,
    spentNano: row.spent_nano,
    calls: Number(row.calls),
    reservedNano: row.reserved_nano,
    inFlight: Number(row.in_flight),
  };
}

export function toSubscription(row: SubscriptionRow, oldest: readonly SlotRow[] = []): SubscriptionState {
  const oldestSlots: Slot[] = oldest.map((slot) => ({ callId: slot.call_id, takenAtMs: slot.taken_at.getTime() }));
  return {
    id: row.id,
    planId: row.plan_id,
    startsAtMs: row.starts_at.getTime(),
    endsAtMs: row.ends_at.getTime(),
    slots: Number(row.slots),
    weekNo: Number(row.week_no),
    weekCalls: Number(row.week_calls),
    periodNo: Number(row.period_no),
    periodTokens: Number(row.period_tokens),
    periodReservedTokens: Number(row.period_reserved_tokens),
    inFlight: Number(row.in_flight),
    oldestSlots,
    oldestSlotsMax: Number(oldest[0]?.read_max ?? 1),
    newSlots: [],
    deletedSlots: [],
  };
}

/** Plan: primary key. */
const updateBalances: Statement = {
  name: 'reservations.update-balances',
  text: `update balances b set balance_nano = v.balance_nano, reserved_nano = v.reserved_nano, spent_on = v.spent_on,
  spent_nano = v.spent_nano, last_entry_no = v.last_entry_no
from unnest($1::text[], $2::bigint[], $3::bigint[], $4::date[], $5::bigint[], $6::bigint[])
  as v (account_id, balance_nano, reserved_nano, spent_on, spent_nano, last_entry_no)
where b.account_id = v.account_id`,
};

/** Plan: primary key. */
const updateKeys: Statement = {
  name: 'reservations.update-keys',
  text: `update key_limits l set day = v.day, spent_nano = v.spent_nano, calls = v.calls, reserved_nano = v.reserved_nano,
  in_flight = v.in_flight
from unnest($1::text[], $2::text[], $3::date[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
  as v (account_id, key_id, day, spent_nano, calls, reserved_nano, in_flight)
where l.account_id = v.account_id and l.key_id = v.key_id`,
};

/** Plan: primary key. */
const updateSubscriptions: Statement = {
  name: 'reservations.update-subscriptions',
  text: `update subscriptions s set slots = v.slots, week_no = v.week_no, week_calls = v.week_calls, period_no = v.period_no,
  period_tokens = v.period_tokens, period_reserved_tokens = v.period_reserved_tokens, in_flight = v.in_flight
from unnest(
    $1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[]
  ) as v (
    account_id, id, slots, week_no, week_calls, period_no, period_tokens, period_reserved_tokens, in_flight
  )
where s.account_id = v.account_id and s.id = v.id`,
};

const insertSlots: Statement = {
  name: 'reservations.insert-slots',
  text: `insert into plan_slots (account_id, subscription_id, call_id, taken_at)
select * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])`,
};

/** Plan: primary key. */
const deleteSlots: Statement = {
  name: 'reservations.delete-slots',
  text: `delete from plan_slots p using unnest($1::text[], $2::text[]) as v (account_id, call_id)
where p.account_id = v.account_id and p.call_id = v.call_id`,
};

type Snapshot = { readonly money: MoneyState; readonly subscriptions: SubscriptionState[]; readonly keys: KeyState[] };

/** Copies accounts before a decision, to find out what it has changed. */
export function copyAccounts(accounts: ReadonlyMap<string, AccountState>): ReadonlyMap<string, Snapshot> {
  const copies = new Map<string, Snapshot>();
  for (const { accountId, money, subscriptions, keys } of accounts.values()) {
    copies.set(accountId, {
      money: { ...money },
      subscriptions: [...subscriptions.values()].map((each) => ({ ...each })),
      keys: [...keys.values()].map((each) => ({ ...each })),
    });
  }
  return copies;
}

/** The writes of what a decision has changed: a statement a table, for the rows that are not what they were. */
export function accountWrites(
  accounts: ReadonlyMap<string, AccountState>,
  before: ReadonlyMap<string, Snapshot>,
): Query[] {
  const all = [...accounts.values()];
  const balances = all.filter(({ accountId, money }) => hasChanged(before.get(accountId)!.money, money));
  const keys = all.flatMap(({ accountId, keys }) =>
    before
      .get(accountId)!
      .keys.map((was) => ({ was, accountId, key: keys.get(was.keyId)! }))
      .filter(({ was, key }) => hasChanged(was, key)),
  );
  const subscriptions = all.flatMap(({ accountId, subscriptions }) =>
    before
      .get(accountId)!
      .subscriptions.map((was) => ({ was, accountId, subscription: subscriptions.get(was.id)! }))
      .filter(({ was, subscription }) => hasChanged(was, subscription)),
  );
  const ofAll = all.flatMap(({ accountId, subscriptions }) =>
    [...subscriptions.values()].map((subscription) => ({ accountId, subscription })),
  );
  const newSlots = ofAll.flatMap(({ accountId, subscription }) =>
    subscription.newSlots.map((slot) => ({ accountId, subscriptionId: subscription.id, ...slot })),
  );
  const deletedSlots = ofAll.flatMap(({ accountId, subscription }) =>
    subscription.deletedSlots.map((callId) => ({ accountId, callId })),
  );
  return [
    ...writeRows(updateBalances, balances, [
      ({ accountId }) => accountId,
      ({ money }) => money.balanceNano,
      ({ money }) => money.reservedNano,
      ({ money }) => money.spentOn,
      ({ money }) => money.spentNano,
      ({ money }) => money.lastEntryNo,
    ]),
    ...writeRows(updateKeys, keys, [
      ({ accountId }) => accountId,
      ({ key }) => key.keyId,
      ({ key }) => key.day,
      ({ key }) => key.spentNano,
      ({ key }) => key.calls,
      ({ key }) => key.reservedNano,
      ({ key }) => key.inFlight,
    ]),
    ...writeRows(deleteSlots, deletedSlots, [({ accountId }) => accountId, ({ callId }) => callId]),
    ...writeRows(insertSlots, newSlots, [
      ({ accountId }) => accountId,
      ({ subscriptionId }) => subscriptionId,
      ({ callId }) => callId,
      ({ takenAtMs }) => toTimestamp(takenAtMs),
    ]),
    ...writeRows(updateSubscriptions, subscriptions, [
      ({ accountId }) => accountId,
      ({ subscription }) => subscription.id,
      ({ subscription }) => subscription.slots,
      ({ subscription }) => subscription.weekNo,
      ({ subscription }) => subscription.weekCalls,
      ({ subscription }) => subscription.periodNo,
      ({ subscription }) => subscription.periodTokens,
      ({ subscription }) => subscription.periodReservedTokens,
      ({ subscription }) => subscription.inFlight,
    ]),
  ];
}

function hasChanged<Row extends object>(before: Row, after: Row): boolean {
  return (Object.keys(after) as (keyof Row)[]).some((name) => before[name] !== after[name]);
}
