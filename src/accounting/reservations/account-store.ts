import { fieldsOf, toTimestamp } from '../../db/columns.ts';
import { type Query, type ReadRows, type Statement, type StoredRow, toArray } from '../../db/database.ts';
import { NOW_COLUMN, nowMsOf, nowSql, type TimedRow } from '../../db/database-time.ts';
import { countColumn, instantColumn, selection, textColumn } from '../../db/table.ts';
import { type BudgetIds, ownerIdOf } from '../accounts/budget-ids.ts';
import { KEY_LIMITS } from '../accounts/key-limit-tables.ts';
import { CLOCK_TOLERANCE_MS } from '../counts/counted-since.ts';
import { type AccountState, type AdmissionTerms, type RateState, rateName } from './account-state.ts';
import type { OwnedCall } from './limits/limited-owner.ts';
import { aliasPlacesOf, placesOf } from './limits/minute-rates.ts';
import type { LockMode } from './locked-accounts.ts';
import type { ReservationRequest } from './reservation.ts';
import { BALANCES, RATE_LIMITS, SUBSCRIPTIONS } from './tables.ts';

/** Every transaction that changes limits first locks its accounts in `balances`, in the order of ids. Its other rows then need no locks. */

/** Locks accounts in order, which prevents deadlocks. The clock is read outside of the subquery that locks, so it is read after locking. */
const lockOf = (name: string, lock: string): Statement => ({
  name: `reservations.${name}`,
  text: `select ${BALANCES.columns.of('b')}, ${NOW_COLUMN}
from (select * from balances where account_id = any ($1::text[]) order by account_id ${lock}) b`,
});
const lockBalances = lockOf('lock-balances', 'for update');
const lockFreeBalances = lockOf('lock-free-balances', 'for update skip locked');

export const lockingStatement = (locks: LockMode): Statement => (locks === 'free' ? lockFreeBalances : lockBalances);

export const readBalances: Statement = {
  name: 'reservations.read-balances',
  text: `select ${BALANCES.columns.of('b')}, ${NOW_COLUMN} from balances b where b.account_id = any ($1::text[])`,
};

export const readKeys: Statement = {
  name: 'reservations.read-keys',
  text: `select ${KEY_LIMITS.columns.of('l')}
from unnest($1::text[], $2::text[]) as k (account_id, key_id)
join key_limits l on l.account_id = k.account_id and l.key_id = k.key_id`,
};

const readRates: Statement = {
  name: 'reservations.read-rates',
  text: `select ${RATE_LIMITS.columns.of('l')}
from unnest($1::text[], $2::text[], $3::text[]) as r (account_id, key_id, model)
join rate_limits l on l.account_id = r.account_id and l.key_id = r.key_id and l.model = r.model`,
};

/** Selects the subscription of each account that started last. Subscriptions of an account do not overlap. */
const readCurrentSubscriptions: Statement = {
  name: 'reservations.read-current-subscriptions',
  text: `select distinct on (s.account_id) ${SUBSCRIPTIONS.columns.of('s')} from subscriptions s
where s.account_id = any ($1::text[]) and s.canceled_at is null and s.starts_at <= ${nowSql('$2')}
order by s.account_id, s.ends_at desc`,
};

/** SQL: the latest instant that does not count as being in the future (`accounting/counts/counted-since.ts`). */
const FUTURE_AFTER = `${nowSql('$2')} + interval '${CLOCK_TOLERANCE_MS} ms'`;

/** Number of expired slots that are deleted in addition to those that a batch needs. So the count soon becomes exact. */
const SPARE_LAPSED_SLOTS = 64;

const SLOTS = selection({
  accountId: textColumn('s.account_id'),
  subscriptionId: textColumn('s.id as subscription_id'),
  callId: textColumn('slot.call_id'),
  takenAtMs: instantColumn('slot.taken_at'),
  readMax: countColumn(`($5::int + ${SPARE_LAPSED_SLOTS} + greatest(s.slots - p.five_hour_calls, 0)) as read_max`),
});

/**
 * Selects as many expired slots as the batch can use and, if the window might become full, those that expire next. Slots in the future
 * exist only after the clock was wrong. Uses the primary key of subscriptions, and plan_slots_by_time from both ends.
 */
const readOldestSlots: Statement = {
  name: 'reservations.read-oldest-slots',
  text: `select ${SLOTS.list}
from subscriptions s
join unnest($3::text[], $4::bigint[]) as p (plan_id, five_hour_calls) on p.plan_id = s.plan_id
cross join lateral (
  (
    select call_id, taken_at from plan_slots
    where plan_slots.account_id = s.account_id and plan_slots.subscription_id = s.id
      and plan_slots.taken_at <= case when s.slots + $5::int > p.five_hour_calls then ${FUTURE_AFTER}
        else ${nowSql('$2')} - interval '5 hours' end
    order by taken_at
    limit $5::int + ${SPARE_LAPSED_SLOTS} + greatest(s.slots - p.five_hour_calls, 0)
  )
  union all
  (
    select call_id, taken_at from plan_slots
    where plan_slots.account_id = s.account_id and plan_slots.subscription_id = s.id and plan_slots.taken_at > ${FUTURE_AFTER}
    order by taken_at
    limit $5::int + ${SPARE_LAPSED_SLOTS} + greatest(s.slots - p.five_hour_calls, 0)
  )
) slot
where s.account_id = any ($1::text[]) and s.canceled_at is null
  and s.starts_at <= ${nowSql('$2')} and s.ends_at > ${nowSql('$2')}`,
};

export class AskedAccounts {
  readonly accountIds = new Set<string>();
  readonly owners = new Map<string, { readonly accountId: string; readonly keyId: string }>();
  /** The limits per minute to look up. Some of them may not exist. */
  readonly rates = new Map<string, Pick<RateState, 'accountId' | 'keyId' | 'model'>>();
  readonly callsOnPlan = new Map<string, number>();

  addOwner(accountId: string, ownerId: string): void {
    this.owners.set(`${accountId} ${ownerId}`, { accountId, keyId: ownerId });
  }

  addCall({ accountId, keyId, isKeyLimited, memberId, budgetIds }: OwnedCall & { readonly accountId: string }): void {
    this.accountIds.add(accountId);
    if (isKeyLimited) this.addOwner(accountId, keyId);
    if (memberId !== null) this.addOwner(accountId, memberId);
    if (budgetIds !== null) this.addBudgets(accountId, budgetIds);
  }

  addBudgets(accountId: string, { key, member, callers = NONE }: BudgetIds): void {
    if (key !== null) this.addOwner(accountId, key);
    if (member !== null) this.addOwner(accountId, member);
    for (const id of callers) {
      this.addOwner(accountId, id);
      // The default budget of its kind.
      this.addOwner(accountId, ownerIdOf(id));
    }
  }

  addRates(call: Pick<ReservationRequest, 'accountId' | 'keyId' | 'model' | 'modelAliases'>): void {
    const { accountId, keyId, model } = call;
    for (const place of [...placesOf(keyId, model), ...aliasPlacesOf(call)]) {
      this.rates.set(`${accountId} ${rateName(place)}`, { accountId, ...place });
    }
  }
}

const NONE: readonly never[] = [];

type Accounts = ReadonlyMap<string, AccountState>;

/** A query about accounts. `addTo` adds its rows to the accounts that the first query has read. */
export type AccountRead = Query & { readonly addTo?: (accounts: Accounts, rows: readonly StoredRow[]) => void };

/** Queries for an admission or a precheck. The first one reads balances. */
export function accountReads(
  balances: Statement,
  { accountIds, owners, rates, callsOnPlan }: AskedAccounts,
  { plans, nowMs }: Pick<AdmissionTerms, 'plans' | 'nowMs'>,
): AccountRead[] {
  const reads: AccountRead[] = [{ statement: balances, parameters: [toArray([...accountIds])] }];
  if (owners.size > 0) {
    const parameters = fieldsOf([...owners.values()], 'accountId', 'keyId');
    reads.push({ statement: readKeys, parameters, addTo: addKeys });
  }
  if (rates.size > 0) {
    const parameters = fieldsOf([...rates.values()], 'accountId', 'keyId', 'model');
    reads.push({ statement: readRates, parameters, addTo: addRates });
  }
  if (callsOnPlan.size > 0) {
    const current = [toArray([...callsOnPlan.keys()]), nowMs === null ? null : toTimestamp(nowMs)];
    const ofPlans = fieldsOf([...plans.values()], 'id', 'fiveHourCalls');
    const slots = [...current, ...ofPlans, Math.max(...callsOnPlan.values())];
    reads.push({ statement: readCurrentSubscriptions, parameters: current, addTo: addCurrentSubscriptions });
    reads.push({ statement: readOldestSlots, parameters: slots, addTo: addSlots });
  }
  return reads;
}

export interface ReadAccounts {
  readonly accounts: Map<string, AccountState>;
  /** Time of the database, read after the accounts were locked. */
  readonly nowMs: number;
}

/** @param nowMs set by tests; with `null`, the time of the database is used */
export function readAccounts(reads: readonly AccountRead[], rows: ReadRows, nowMs: number | null): ReadAccounts {
  const money = rows[0] as readonly (StoredRow & TimedRow)[];
  const accounts = toAccounts(money);
  for (let i = 1; i < reads.length; i++) reads[i]!.addTo?.(accounts, rows[i] as readonly StoredRow[]);
  return { accounts, nowMs: nowMs ?? nowMsOf(money) };
}

export function toAccounts(rows: readonly StoredRow[]): Map<string, AccountState> {
  const accounts = new Map<string, AccountState>();
  for (const row of rows) {
    const money = BALANCES.columns.read(row);
    const { accountId } = money;
    const [subscriptions, keys, rates] = [new Map(), new Map(), new Map()];
    accounts.set(accountId, {
      ...{ accountId, money, subscriptions, keys, rates },
      currentSubscriptionId: null,
      activePlan: null,
    });
  }
  return accounts;
}

export function addKeys(accounts: Accounts, rows: readonly StoredRow[]): void {
  for (const row of rows) {
    const key = KEY_LIMITS.columns.read(row);
    accounts.get(key.accountId)?.keys.set(key.keyId, key);
  }
}

export function addRates(accounts: Accounts, rows: readonly StoredRow[]): void {
  for (const row of rows) {
    const rate = RATE_LIMITS.columns.read(row);
    accounts.get(rate.accountId)?.rates.set(rateName(rate), { ...rate, isStored: true });
  }
}

/** Adds subscriptions, without slots. One that was added before stays, because `addSlots` may have given it slots. */
export function addSubscriptions(accounts: Accounts, rows: readonly StoredRow[]): void {
  for (const row of rows) {
    const counts = SUBSCRIPTIONS.columns.read(row);
    const account = accounts.get(counts.accountId);
    if (account === undefined || account.subscriptions.has(counts.id)) continue;
    const slots = { oldestSlots: [], oldestSlotsMax: 1, newSlots: [], deletedSlots: [] };
    account.subscriptions.set(counts.id, { ...counts, ...slots });
  }
}

function addCurrentSubscriptions(accounts: Accounts, rows: readonly StoredRow[]): void {
  addSubscriptions(accounts, rows);
  for (const account of accounts.values())
    for (const id of account.subscriptions.keys()) account.currentSubscriptionId = id;
}

function addSlots(accounts: Accounts, rows: readonly StoredRow[]): void {
  for (const { accountId, subscriptionId, readMax, ...slot } of SLOTS.all(rows)) {
    const subscription = accounts.get(accountId)?.subscriptions.get(subscriptionId);
    if (subscription === undefined) continue;
    subscription.oldestSlots.push(slot);
    subscription.oldestSlotsMax = readMax;
  }
}
