import { insertOfRows } from '../../db/citus.ts';
import { toTimestamp, writeRows } from '../../db/columns.ts';
import type { Query, Statement } from '../../db/database.ts';
import { KEY_LIMITS } from '../accounts/key-limit-tables.ts';
import {
  type AccountState,
  type KeyState,
  type MoneyState,
  type RateState,
  rateName,
  type SubscriptionState,
} from './account-state.ts';
import { CALL_NAME, type CallName } from './reservation.ts';
import { BALANCES, RATE_LIMITS, SUBSCRIPTIONS } from './tables.ts';

const updateBalances = BALANCES.update('reservations.update-balances');
const updateKeys = KEY_LIMITS.update('reservations.update-keys');
const updateSubscriptions = SUBSCRIPTIONS.update('reservations.update-subscriptions');
const updateRates = RATE_LIMITS.update('reservations.update-rates');

/** Creates rows that count the use of default budgets. The account must be locked. */
const insertKeys: Statement = {
  name: 'reservations.insert-keys',
  text: `insert into key_limits (${KEY_LIMITS.written.names.join(', ')}) select * from ${KEY_LIMITS.written.rows.as('v')}`,
};

/** Creates rows for limits that are only in the configuration. The account must be locked. */
const insertRates: Statement = {
  name: 'reservations.insert-rates',
  text: `insert into rate_limits (${RATE_LIMITS.written.names.join(', ')}) select * from ${RATE_LIMITS.written.rows.as('v')}`,
};

const insertSlots = insertOfRows(
  'reservations.insert-slots',
  (condition) => `insert into plan_slots (account_id, subscription_id, call_id, taken_at)
select * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) ${condition}`,
);

const deleteSlots: Statement = {
  name: 'reservations.delete-slots',
  text: `delete from plan_slots p using unnest($1::text[], $2::text[]) as v (account_id, call_id)
where p.account_id = v.account_id and p.call_id = v.call_id`,
};

interface Snapshot {
  readonly money: MoneyState;
  readonly subscriptions: readonly SubscriptionState[];
  readonly keys: readonly KeyState[];
  readonly rates: readonly RateState[];
}

export type AccountsBefore = ReadonlyMap<string, Snapshot>;

export function copyAccounts(accounts: ReadonlyMap<string, AccountState>): AccountsBefore {
  const copies = new Map<string, Snapshot>();
  for (const { accountId, money, subscriptions, keys, rates } of accounts.values()) {
    const copy = { money: { ...money }, subscriptions: NONE, keys: NONE, rates: NONE };
    if (subscriptions.size + keys.size + rates.size === 0) copies.set(accountId, copy);
    else {
      copies.set(accountId, {
        ...copy,
        subscriptions: Array.from(subscriptions.values(), (each) => ({ ...each })),
        keys: Array.from(keys.values(), (each) => ({ ...each })),
        rates: Array.from(rates.values(), (each) => ({ ...each })),
      });
    }
  }
  return copies;
}

const NONE: readonly never[] = [];

/** Writes the accounts that have changed, with one statement per table. */
export function accountWrites(accounts: ReadonlyMap<string, AccountState>, before: AccountsBefore): Query[] {
  const balances: MoneyState[] = [];
  const keys: KeyState[] = [];
  const newKeys: KeyState[] = [];
  const rates: RateState[] = [];
  const newRates: RateState[] = [];
  const subscriptions: SubscriptionState[] = [];
  const withSlots: SubscriptionState[] = [];
  for (const account of accounts.values()) {
    const was = before.get(account.accountId)!;
    if (BALANCES.hasChanged(was.money, account.money)) balances.push(account.money);
    for (const old of was.keys) {
      const key = account.keys.get(old.keyId)!;
      if (KEY_LIMITS.hasChanged(old, key)) keys.push(key);
    }
    if (account.keys.size > was.keys.length) {
      const stored = new Set(was.keys.map(({ keyId }) => keyId));
      for (const key of account.keys.values()) if (!stored.has(key.keyId)) newKeys.push(key);
    }
    for (const old of was.rates) {
      const rate = account.rates.get(rateName(old))!;
      if (RATE_LIMITS.hasChanged(old, rate)) rates.push(rate);
    }
    for (const rate of account.rates.values()) if (!rate.isStored) newRates.push(rate);
    for (const old of was.subscriptions) {
      const subscription = account.subscriptions.get(old.id)!;
      if (SUBSCRIPTIONS.hasChanged(old, subscription)) subscriptions.push(subscription);
      // Compares slots too: the counts stay equal if one slot is freed and another is taken.
      if (subscription.newSlots.length + subscription.deletedSlots.length > 0) withSlots.push(subscription);
    }
  }
  const written = BALANCES.written.rows.write(updateBalances, balances);
  if (keys.length + rates.length + newRates.length + subscriptions.length + withSlots.length === 0) return written;
  return [
    ...written,
    ...KEY_LIMITS.written.rows.write(updateKeys, keys),
    ...KEY_LIMITS.written.rows.write(insertKeys, newKeys),
    ...RATE_LIMITS.written.rows.write(updateRates, rates),
    ...RATE_LIMITS.written.rows.write(insertRates, newRates),
    ...slotWrites(withSlots),
    ...SUBSCRIPTIONS.written.rows.write(updateSubscriptions, subscriptions),
  ];
}

function slotWrites(subscriptions: readonly SubscriptionState[]): Query[] {
  const [taken, deleted]: [Record<'accountId' | 'subscriptionId' | 'callId' | 'takenAt', string>[], CallName[]] = [
    [],
    [],
  ];
  for (const { accountId, id, newSlots, deletedSlots } of subscriptions) {
    for (const { callId, takenAtMs } of newSlots) {
      taken.push({ accountId, subscriptionId: id, callId, takenAt: toTimestamp(takenAtMs) });
    }
    for (const callId of deletedSlots) deleted.push({ accountId, callId });
  }
  return [
    ...writeRows(deleteSlots, deleted, CALL_NAME),
    ...writeRows(insertSlots, taken, ['accountId', 'subscriptionId', 'callId', 'takenAt']),
  ];
}
