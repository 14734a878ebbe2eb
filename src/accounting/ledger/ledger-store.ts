import { type Lane, type Queryable, type Statement, toArray } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import { countedSql } from '../counts/counted-since.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import { lockAccount } from './account-lock-store.ts';

/** The SQL of the ledger as people use it: top-ups, adjustments, statements of account. */

export type LedgerKind = 'top_up' | 'charge' | 'refund' | 'adjustment';

/** An immutable change of a balance. */
export interface LedgerEntry {
  readonly accountId: string;
  /** 1, 2, 3… in each account, without gaps. */
  readonly entryNo: bigint;
  readonly kind: LedgerKind;
  /** What was added to the balance; charges are negative. */
  readonly amountNano: bigint;
  readonly balanceAfterNano: bigint;
  readonly callId: string | null;
  readonly memo: string | null;
  readonly createdAt: Date;
}

/** A change of a balance that is requested: a top-up, a refund or an adjustment. */
export interface NewLedgerEntry {
  readonly accountId: string;
  readonly kind: 'top_up' | 'adjustment' | 'refund';
  readonly amountNano: bigint;
  /** Of a refund; absent: the entry belongs to no call. */
  readonly callId?: string;
  readonly memo: string | null;
  /** A request with the same key returns the first entry instead of making another. */
  readonly idempotencyKey: string | null;
  readonly at: Date;
}

type PostResult =
  | { readonly outcome: 'posted' | 'repeated'; readonly entry: LedgerEntry }
  | { readonly outcome: 'unknown_account' | 'key_conflict' | 'out_of_range' };

/** What an account has, what it has reserved, and what it spent today. */
export interface BalanceState {
  readonly balanceNano: bigint;
  readonly reservedNano: bigint;
  readonly spentTodayNano: bigint;
  readonly dailyCapNano: bigint | null;
  /** The cap that the owners of the account set below it; `null`: none. */
  readonly ownDailyCapNano: bigint | null;
  /** What the account pays of the list price. */
  readonly priceFactorBasisPoints: number;
}

interface EntryRow {
  account_id: string;
  entry_no: bigint;
  kind: LedgerKind;
  amount_nano: bigint;
  balance_after_nano: bigint;
  call_id: string | null;
  memo: string | null;
  created_at: Date;
}

const ENTRY_COLUMNS = 'account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, memo, created_at';

/** By the unique index ledger_by_idempotency_key. */
const selectByIdempotencyKey: Statement = {
  name: 'ledger.select-by-idempotency-key',
  text: `select ${ENTRY_COLUMNS} from ledger_entries where account_id = $1 and idempotency_key = $2`,
};

const insertEntry: Statement = {
  name: 'ledger.post-entry',
  text: `with moved as (
  update balances set balance_nano = balance_nano + $3::bigint, last_entry_no = last_entry_no + 1
  where account_id = $1
  returning account_id, balance_nano, last_entry_no
)
insert into ledger_entries (
  account_id, entry_no, kind, amount_nano, balance_after_nano, memo, idempotency_key, created_at, call_id
)
select account_id, last_entry_no, $2, $3::bigint, balance_nano, $4, $5, $6, $7 from moved
returning ${ENTRY_COLUMNS}`,
};

/** Newest first; walks the primary key backwards. */
const listEntries: Statement = {
  name: 'ledger.list-entries',
  text: `select ${ENTRY_COLUMNS} from ledger_entries
where account_id = $1 and ($2::bigint is null or entry_no < $2) order by entry_no desc limit $3::int`,
};

const selectBalances: Statement = {
  name: 'ledger.select-balances',
  text: `select account_id, balance_nano, reserved_nano, daily_cap_nano, own_daily_cap_nano, price_factor_basis_points,
  case when ${countedSql('day_began_at', '$2', '$3')} then spent_nano else 0 end as spent_today_nano
from balances where account_id = any ($1::text[])`,
};

const updateDailyCap: Statement = {
  name: 'ledger.update-daily-cap',
  text: 'update balances set daily_cap_nano = $2::bigint where account_id = $1',
};

const updateOwnDailyCap: Statement = {
  name: 'ledger.update-own-daily-cap',
  text: 'update balances set own_daily_cap_nano = $2::bigint where account_id = $1',
};

/** Takes the row's lock, so it is before or after each admission of the account. Plan: primary key. */
const updatePriceFactor: Statement = {
  name: 'ledger.update-price-factor',
  text: 'update balances set price_factor_basis_points = $2::int where account_id = $1',
};

interface BalanceRow {
  account_id: string;
  balance_nano: bigint;
  reserved_nano: bigint;
  daily_cap_nano: bigint | null;
  own_daily_cap_nano: bigint | null;
  price_factor_basis_points: number;
  spent_today_nano: bigint;
}

export interface LedgerStore {
  post(entry: NewLedgerEntry): Promise<PostResult>;
  listEntries(accountId: string, beforeNo: bigint | null, limit: number): Promise<LedgerEntry[]>;
  /** Accounts that do not exist are left out. */
  findBalances(accountIds: readonly string[], periods: RunningPeriods): Promise<Map<string, BalanceState>>;
  /** `null`: the configuration's cap applies. */
  setDailyCap(accountId: string, capNano: bigint | null): Promise<void>;
  /** The cap of the owners of the account, which lifts none of the operator; `null`: none. */
  setOwnDailyCap(accountId: string, capNano: bigint | null): Promise<void>;
  /** For calls that are admitted from now on, by any node. */
  setPriceFactor(accountId: string, basisPoints: number): Promise<void>;
}

export function createLedgerStore(database: Lane): LedgerStore {
  return {
    async post(entry) {
      try {
        return await database.transaction((transaction) => postEntry(transaction, entry));
      } catch (error) {
        if (sqlState(error) === NUMERIC_OUT_OF_RANGE) return { outcome: 'out_of_range' };
        throw error;
      }
    },
    async listEntries(accountId, beforeNo, limit) {
      const rows = await database.query<EntryRow>(listEntries, [accountId, beforeNo, limit]);
      return rows.map(toEntry);
    },
    async findBalances(accountIds, { dayBeganAtMs, nowMs }) {
      const parameters = [toArray(accountIds), new Date(dayBeganAtMs), new Date(nowMs)];
      const rows = await database.query<BalanceRow>(selectBalances, parameters);
      return new Map(rows.map((row) => [row.account_id, toBalanceState(row)]));
    },
    async setDailyCap(accountId, capNano) {
      await database.query(updateDailyCap, [accountId, capNano]);
    },
    async setOwnDailyCap(accountId, capNano) {
      await database.query(updateOwnDailyCap, [accountId, capNano]);
    },
    async setPriceFactor(accountId, basisPoints) {
      await database.query(updatePriceFactor, [accountId, basisPoints]);
    },
  };
}

/** A balance that cannot be stored. */
export const NUMERIC_OUT_OF_RANGE = '22003';

/**
 * Posts an entry in a transaction of its caller. The account's row is locked first, so that a repeat that races the first
 * request finds its entry.
 */
export async function postEntry(transaction: Queryable, entry: NewLedgerEntry): Promise<PostResult> {
  if (!(await lockAccount(transaction, entry.accountId))) return { outcome: 'unknown_account' };
  if (entry.idempotencyKey !== null) {
    const first = await selectKeyedEntry(transaction, entry.accountId, entry.idempotencyKey);
    if (first !== null) {
      const isSame = first.kind === entry.kind && first.amountNano === entry.amountNano && first.memo === entry.memo;
      return isSame ? { outcome: 'repeated', entry: first } : { outcome: 'key_conflict' };
    }
  }
  const { accountId, kind, amountNano, memo, idempotencyKey, at, callId = null } = entry;
  const values = [accountId, kind, amountNano, memo, idempotencyKey, at, callId];
  const [row] = await transaction.query<EntryRow>(insertEntry, values);
  return { outcome: 'posted', entry: toEntry(row!) };
}

/** The entry that was made with an idempotency key; `null` if there is none. */
export async function selectKeyedEntry(
  transaction: Queryable,
  accountId: string,
  idempotencyKey: string,
): Promise<LedgerEntry | null> {
  const [row] = await transaction.query<EntryRow>(selectByIdempotencyKey, [accountId, idempotencyKey]);
  return row === undefined ? null : toEntry(row);
}

function toEntry(row: EntryRow): LedgerEntry {
  return {
    accountId: row.account_id,
    entryNo: row.entry_no,
    kind: row.kind,
    amountNano: row.amount_nano,
    balanceAfterNano: row.balance_after_nano,
    callId: row.call_id,
    memo: row.memo,
    createdAt: row.created_at,
  };
}

function toBalanceState(row: BalanceRow): BalanceState {
  return {
    balanceNano: row.balance_nano,
    reservedNano: row.reserved_nano,
    dailyCapNano: row.daily_cap_nano,
    ownDailyCapNano: row.own_daily_cap_nano,
    priceFactorBasisPoints: row.price_factor_basis_points,
    spentTodayNano: row.spent_today_nano,
  };
}
