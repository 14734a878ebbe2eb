import { KEY_LIMITS } from '../accounting/accounts/key-limit-tables.ts';
import type { RunningPeriods } from '../accounting/pricing/running-periods.ts';
import { rateName } from '../accounting/reservations/account-state.ts';
import { addKeys, addRates, addSubscriptions, toAccounts } from '../accounting/reservations/account-store.ts';
import { freeReservation, NO_USE } from '../accounting/reservations/release.ts';
import type { OpenReservation } from '../accounting/reservations/reservation.ts';
import { BALANCES, RATE_LIMITS, RESERVATIONS, SUBSCRIPTIONS } from '../accounting/reservations/tables.ts';
import type { SqlValue } from '../db/database.ts';
import type { TableColumns } from '../db/table.ts';
import type { AccountRow, STATE } from './export-tables-store.ts';

/** The rows of an account that change while calls are in flight, with the reservations of these calls. */
export type AccountRows = Readonly<Record<keyof typeof STATE, readonly AccountRow[]>>;

export interface ReleasedAccount {
  readonly balanceNano: bigint;
  readonly balanceRow: string;
  readonly keyLimitRows: readonly { readonly keyId: string; readonly row: string }[];
  /** Limits per minute. `keyId` is empty for those of the account itself. */
  readonly rateLimitRows: readonly { readonly keyId: string; readonly row: string }[];
  readonly subscriptionRows: readonly string[];
  /** Calls in flight whose slots are not exported. */
  readonly releasedSlots: ReadonlySet<string>;
}

/** Returns an account as if its calls in flight had never been admitted; `null` if it has no balance. */
export function releaseAccount(rows: AccountRows): ReleasedAccount | null {
  const accounts = toAccounts(rows.balances);
  addKeys(accounts, rows.key_limits);
  addRates(accounts, rows.rate_limits);
  addSubscriptions(accounts, rows.subscriptions);
  const [account] = accounts.values();
  if (account === undefined) return null;
  for (const row of rows.reservations) {
    const reservation: OpenReservation = { ...RESERVATIONS.read(row), hasSlot: row.has_slot as boolean };
    freeReservation(reservation, NO_USE, account, NO_PERIODS);
  }
  const { money, keys, rates, subscriptions } = account;
  return {
    balanceNano: money.balanceNano,
    balanceRow: withCounted(rows.balances[0]!, BALANCES.written, money),
    keyLimitRows: rows.key_limits.map((row) => {
      const keyId = String(row.key_id);
      return { keyId, row: withCounted(row, KEY_LIMITS.written, keys.get(keyId)!) };
    }),
    rateLimitRows: rows.rate_limits.map((row) => ({
      keyId: String(row.key_id),
      row: withCounted(row, RATE_LIMITS.written, rates.get(rateName(RATE_LIMITS.columns.read(row)))!),
    })),
    subscriptionRows: rows.subscriptions.map((row) =>
      withCounted(row, SUBSCRIPTIONS.written, subscriptions.get(String(row.id))!),
    ),
    releasedSlots: new Set([...subscriptions.values()].flatMap(({ deletedSlots }) => deletedSlots)),
  };
}

function withCounted<Row extends object>({ row }: AccountRow, columns: TableColumns<Row>, state: Row): string {
  const values = columns.valuesOf(state);
  const counted = columns.names.map((name, i) => `,"${name}":${toJson(values[i]!)}`);
  return `${row.slice(0, -1)}${counted.join('')}}`;
}

function toJson(value: SqlValue): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

/** Periods for a release. No new one begins, so today's use of keys does not change. */
const NO_PERIODS: RunningPeriods = {
  today: '',
  nowMs: Number.POSITIVE_INFINITY,
  dayBeganAtMs: Number.NEGATIVE_INFINITY,
  weekBeganAtMs: Number.NEGATIVE_INFINITY,
  monthBeganAtMs: Number.NEGATIVE_INFINITY,
  nextDayMs: Number.POSITIVE_INFINITY,
  nextWeekMs: Number.POSITIVE_INFINITY,
  nextMonthMs: Number.POSITIVE_INFINITY,
};
