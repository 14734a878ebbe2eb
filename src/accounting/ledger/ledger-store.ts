import { type Statement, type StoredRow, toArray } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import type { PartitionLane, PartitionQueryable } from '../../db/home-lanes.ts';
import { bigintColumn, dateColumn, intColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import { countedSql } from '../counts/counted-since.ts';
import { askedByPartition, mergedMaps, type Routes, routedByAccount } from '../partitions/routes.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import { lockAccount } from './account-lock-store.ts';

/** The SQL of the ledger as people use it: top-ups, adjustments, statements of account. */

export type LedgerKind = 'top_up' | 'charge' | 'refund' | 'adjustment';

/** An immutable change of a balance. */
const ENTRIES = selection({
  accountId: textColumn('account_id'),
  /** 1, 2, 3… in each account, without gaps. */
  entryNo: bigintColumn('entry_no'),
  kind: textColumn<LedgerKind>('kind'),
  /** What was added to the balance; charges are negative. */
  amountNano: bigintColumn('amount_nano'),
  balanceAfterNano: bigintColumn('balance_after_nano'),
  callId: orNull(textColumn('call_id')),
  memo: orNull(textColumn('memo')),
  createdAt: dateColumn('created_at'),
});

export type LedgerEntry = RowOf<typeof ENTRIES>;

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
const BALANCES = selection({
  balanceNano: bigintColumn('balance_nano'),
  reservedNano: bigintColumn('reserved_nano'),
  spentTodayNano: bigintColumn(
    `case when ${countedSql('day_began_at', '$2', '$3')} then spent_nano else 0 end as spent_today_nano`,
  ),
  dailyCapNano: orNull(bigintColumn('daily_cap_nano')),
  /** The cap that the owners of the account set below it; `null`: none. */
  ownDailyCapNano: orNull(bigintColumn('own_daily_cap_nano')),
  /** What the account pays of the list price. */
  priceFactorBasisPoints: intColumn('price_factor_basis_points'),
});

export type BalanceState = RowOf<typeof BALANCES>;

/** By the unique index ledger_by_idempotency_key. */
const selectByIdempotencyKey: Statement = {
  name: 'ledger.select-by-idempotency-key',
  text: `select ${ENTRIES.list} from ledger_entries where account_id = $1 and idempotency_key = $2`,
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
returning ${ENTRIES.list}`,
};

/** Newest first; walks the primary key backwards. */
const listEntries: Statement = {
  name: 'ledger.list-entries',
  text: `select ${ENTRIES.list} from ledger_entries
where account_id = $1 and ($2::bigint is null or entry_no < $2) order by entry_no desc limit $3::int`,
};

const selectBalances: Statement = {
  name: 'ledger.select-balances',
  text: `select account_id, ${BALANCES.list} from balances where account_id = any ($1::text[])`,
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

export function createLedgerStore(database: PartitionLane): LedgerStore {
  return {
    async post(entry) {
      try {
        return await database.transaction((transaction) => postEntry(transaction, entry));
      } catch (error) {
        if (sqlState(error) === NUMERIC_OUT_OF_RANGE) return { outcome: 'out_of_range' };
        throw error;
      }
    },
    listEntries: async (accountId, beforeNo, limit) =>
      ENTRIES.all(await database.query(listEntries, [accountId, beforeNo, limit])),
    async findBalances(accountIds, { dayBeganAtMs, nowMs }) {
      const parameters = [toArray(accountIds), new Date(dayBeganAtMs), new Date(nowMs)];
      const rows = await database.query<StoredRow & { account_id: string }>(selectBalances, parameters);
      return new Map(rows.map((row) => [row.account_id, BALANCES.read(row)]));
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
export async function postEntry(transaction: PartitionQueryable, entry: NewLedgerEntry): Promise<PostResult> {
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
  const [row] = await transaction.query(insertEntry, values);
  return { outcome: 'posted', entry: ENTRIES.read(row!) };
}

/** The entry that was made with an idempotency key; `null` if there is none. */
export async function selectKeyedEntry(
  transaction: PartitionQueryable,
  accountId: string,
  idempotencyKey: string,
): Promise<LedgerEntry | null> {
  return ENTRIES.first(await transaction.query(selectByIdempotencyKey, [accountId, idempotencyKey]));
}

/** Of all partitions. */
export function routedLedger(routes: Routes<LedgerStore>): LedgerStore {
  const itself = (accountId: string): string => accountId;
  return {
    ...routedByAccount<Omit<LedgerStore, 'findBalances'>>(routes, {
      post: ({ accountId }) => accountId,
      listEntries: itself,
      setDailyCap: itself,
      setOwnDailyCap: itself,
      setPriceFactor: itself,
    }),
    findBalances: async (accountIds, periods) =>
      mergedMaps(
        await askedByPartition(routes, accountIds, itself, (ledger, those) => ledger.findBalances(those, periods)),
      ),
  };
}
