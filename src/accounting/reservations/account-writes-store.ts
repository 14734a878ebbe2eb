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
import { CALL_NAME } from './reservation.ts';
import { BALANCES, RATE_LIMITS, SUBSCRIPTIONS } from './tables.ts';

/** The SQL that writes what a decision has changed of accounts, whose rows in `balances` the transaction has locked. */

const updateBalances = BALANCES.update('reservations.update-balances');
const updateKeys = KEY_LIMITS.update('reservations.update-keys');
const updateSubscriptions = SUBSCRIPTIONS.update('reservations.update-subscriptions');
const updateRates = RATE_LIMITS.update('reservations.update-rates');

/** Of limits that only the configuration has, at their first calls. Whoever makes a row holds the lock of its account. */
const insertRates: Statement = {
  name: 'reservations.insert-rates',
  text: `insert into rate_limits (${RATE_LIMITS.written.names.join(', ')}) select * from ${RATE_LIMITS.written.rows.as('v')}`,
};

const insertSlots = insertOfRows(
  'reservations.insert-slots',
  (condition) => `insert into plan_slots (account_id, subscription_id, call_id, taken_at)
select * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) ${condition}`,
);

/** Plan: primary key. */
const deleteSlots: Statement = {
  name: 'reservations.delete-slots',
  text: `delete from plan_slots p using unnest($1::text[], $2::text[]) as v (account_id, call_id)
where p.account_id = v.account_id and p.call_id = v.call_id`,
};

type Snapshot = {
  readonly money: MoneyState;
  readonly subscriptions: SubscriptionState[];
  readonly keys: KeyState[];
  readonly rates: RateState[];
};

/** What accounts counted before a decision. */
export type AccountsBefore = ReadonlyMap<string, Snapshot>;

/** Copies accounts before a decision, to find out what it has changed. */
export function copyAccounts(accounts: ReadonlyMap<string, AccountState>): AccountsBefore {
  const copies = new Map<string, Snapshot>();
  for (const { accountId, money, subscriptions, keys, rates } of accounts.values()) {
    copies.set(accountId, {
      money: { ...money },
      subscriptions: [...subscriptions.values()].map((each) => ({ ...each })),
      keys: [...keys.values()].map((each) => ({ ...each })),
      rates: [...rates.values()].map((each) => ({ ...each })),
    });
  }
  return copies;
}

/** The writes of what a decision has changed: a statement a table, for the rows that are not what they were. */
export function accountWrites(accounts: ReadonlyMap<string, AccountState>, before: AccountsBefore): Query[] {
  const all = [...accounts.values()];
  const balances = all
    .map(({ money }) => money)
    .filter((money) => BALANCES.hasChanged(before.get(money.accountId)!.money, money));
  const keys = all.flatMap(({ accountId, keys }) =>
    before.get(accountId)!.keys.flatMap((was) => {
      const key = keys.get(was.keyId)!;
      return KEY_LIMITS.hasChanged(was, key) ? [key] : [];
    }),
  );
  const rates = all.flatMap(({ accountId, rates }) =>
    before.get(accountId)!.rates.flatMap((was) => {
      const rate = rates.get(rateName(was))!;
      return RATE_LIMITS.hasChanged(was, rate) ? [rate] : [];
    }),
  );
  const newRates = all.flatMap(({ rates }) => [...rates.values()].filter(({ isStored }) => !isStored));
  const subscriptions = all.flatMap(({ accountId, subscriptions }) =>
    before.get(accountId)!.subscriptions.flatMap((was) => {
      const subscription = subscriptions.get(was.id)!;
      return SUBSCRIPTIONS.hasChanged(was, subscription) ? [subscription] : [];
    }),
  );
  const ofAll = all.flatMap((account) => [...account.subscriptions.values()]);
  const newSlots = ofAll.flatMap(({ accountId, id, newSlots }) =>
    newSlots.map((slot) => ({ accountId, subscriptionId: id, ...slot })),
  );
  const deletedSlots = ofAll.flatMap(({ accountId, deletedSlots }) =>
    deletedSlots.map((callId) => ({ accountId, callId })),
  );
  return [
    ...BALANCES.written.rows.write(updateBalances, balances),
    ...KEY_LIMITS.written.rows.write(updateKeys, keys),
    ...RATE_LIMITS.written.rows.write(updateRates, rates),
    ...RATE_LIMITS.written.rows.write(insertRates, newRates),
    ...writeRows(deleteSlots, deletedSlots, CALL_NAME),
    ...writeRows(insertSlots, newSlots, [
      ({ accountId }) => accountId,
      ({ subscriptionId }) => subscriptionId,
      ({ callId }) => callId,
      ({ takenAtMs }) => toTimestamp(takenAtMs),
    ]),
    ...SUBSCRIPTIONS.written.rows.write(updateSubscriptions, subscriptions),
  ];
}
