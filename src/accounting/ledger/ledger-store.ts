import { type Statement, type StoredRow, toArray } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import type { PartitionPool, PartitionQueryable } from '../../db/home-pools.ts';
import { bigintColumn, dateColumn, intColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import { type LookedThrough, lookThrough, type SliceTiming, UNHURRIED } from '../../lib/slices.ts';
import { countedSql } from '../counts/counted-since.ts';
import { accountIdOf, itself, mapByPartition, type Routes, routedByAccount } from '../partitions/routes.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import { lockAccount } from './account-lock-store.ts';

/** This file stores balances, ledger entries, and the terms of accounts. */

export type LedgerKind = 'top_up' | 'charge' | 'refund' | 'adjustment';

export const ENTRIES = selection({
  accountId: textColumn('account_id'),
  /** Number of the entry in its account, from 1, without gaps. */
  entryNo: bigintColumn('entry_no'),
  kind: textColumn<LedgerKind>('kind'),
  /** The amount that is added to the balance; negative for charges. */
  amountNano: bigintColumn('amount_nano'),
  balanceAfterNano: bigintColumn('balance_after_nano'),
  callId: orNull(textColumn('call_id')),
  memo: orNull(textColumn('memo')),
  /** What identifies the payment of a top-up, such as the number of a bank transfer. */
  reference: orNull(textColumn('reference')),
  createdAt: dateColumn('created_at'),
});

export type LedgerEntry = RowOf<typeof ENTRIES>;

export interface NewLedgerEntry {
  readonly accountId: string;
  readonly kind: 'top_up' | 'adjustment' | 'refund';
  readonly amountNano: bigint;
  readonly callId?: string;
  readonly memo: string | null;
  /** Only top-ups have one. */
  readonly reference?: string | null;
  /** A repeated request with the same key returns the first entry. */
  readonly idempotencyKey: string | null;
  readonly at: Date;
}

type PostResult =
  | { readonly outcome: 'posted' | 'repeated'; readonly entry: LedgerEntry }
  | { readonly outcome: 'unknown_account' | 'key_conflict' | 'out_of_range' };

const BALANCES = selection({
  balanceNano: bigintColumn('balance_nano'),
  reservedNano: bigintColumn('reserved_nano'),
  spentTodayNano: bigintColumn(
    `case when ${countedSql('day_began_at', '$2', '$3')} then spent_nano else 0 end as spent_today_nano`,
  ),
  dailyCapNano: orNull(bigintColumn('daily_cap_nano')),
  /** A daily spending cap that the owners of the account set, next to the operator's; `null`: none. */
  ownDailyCapNano: orNull(bigintColumn('own_daily_cap_nano')),
  priceFactorBasisPoints: intColumn('price_factor_basis_points'),
});

export type BalanceState = RowOf<typeof BALANCES>;

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
  account_id, entry_no, kind, amount_nano, balance_after_nano, memo, idempotency_key, created_at, call_id, reference
)
select account_id, last_entry_no, $2, $3::bigint, balance_nano, $4, $5, $6, $7, $8 from moved
returning ${ENTRIES.list}`,
};

/** Uses the primary key. */
const selectEntries: Statement = {
  name: 'ledger.select-entries',
  text: `select ${ENTRIES.list} from ledger_entries where account_id = $1 and entry_no = any ($2::bigint[]) order by entry_no`,
};

export interface LedgerFilter {
  readonly kind: LedgerKind | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

const EVERY_ENTRY: LedgerFilter = { kind: null, from: null, to: null };

/** A row of a batch. If no entry of the batch matches, there is one row without an entry. */
interface BatchEnd extends StoredRow {
  readonly entry_no: bigint | null;
  readonly last_no: bigint | null;
  readonly rows_read: number;
}

/** Selects a batch of rows: the entries that match, and the last row. The condition `part` begins the batch after the cursor. */
const batchOf = (name: string, part: string, order: string): Statement => ({
  name: `ledger.batch-${name}`,
  text: `with part as materialized (
  select ${ENTRIES.list} from ledger_entries where account_id = $1 and ${part}
  order by ${order} limit $3::int
),
found as (
  select * from part
  where ($5::text is null or kind = $5) and ($6::timestamptz is null or created_at >= $6) and ($7::timestamptz is null or created_at < $7)
  order by ${order} limit $4::int
)
select ${ENTRIES.of('f')}, last.last_no, last.rows_read
from (select (array_agg(entry_no order by ${order}))[count(*)] as last_no, count(*)::int as rows_read from part) last
left join found f on true order by ${order}`,
});

/** A batch of all entries, by primary key. A time range is not a range of entry numbers: entries from a journal are inserted late. */
const batchOfAll = batchOf('all', '($2::bigint is null or entry_no < $2)', 'entry_no desc');

/** A batch of entries other than charges, which are few. Uses ledger_entries_beside_charges. */
const batchOfOthers = batchOf(
  'beside-charges',
  `kind <> 'charge' and created_at >= coalesce($6::timestamptz, '-infinity') and created_at < coalesce($7::timestamptz, 'infinity')
    and ($2::bigint is null or (created_at, entry_no) < (
      (select created_at from ledger_entries where account_id = $1 and entry_no = $2), $2))`,
  'created_at desc, entry_no desc',
);

const selectBalances: Statement = {
  name: 'ledger.select-balances',
  text: `select account_id, ${BALANCES.list} from balances where account_id = any ($1::text[])`,
};

/** Changes the terms of an account. Waits for the row's lock, so each admission sees either the old terms or the new ones. */
/** Changes terms, and queues the account if a cap has changed (`changed-account-store.ts`). */
const updateTerms: Statement = {
  name: 'ledger.update-terms',
  text: `with changed as (
  update balances set
    daily_cap_nano = case when $2::boolean then $3::bigint else daily_cap_nano end,
    own_daily_cap_nano = case when $4::boolean then $5::bigint else own_daily_cap_nano end,
    price_factor_basis_points = coalesce($6::int, price_factor_basis_points)
  where account_id = $1 returning account_id
)
insert into account_changes (account_ids) select array[account_id] from changed where $2::boolean or $4::boolean`,
};

/** New terms of an account. Terms that are absent stay unchanged. */
export interface LedgerTerms {
  /** The operator's daily cap; `null`: the cap in the configuration applies. */
  readonly dailyCapNano?: bigint | null | undefined;
  /** The owners' daily cap, next to the operator's; `null`: none. */
  readonly ownDailyCapNano?: bigint | null | undefined;
  readonly priceFactorBasisPoints?: number | undefined;
}

export interface LedgerStore {
  post(entry: NewLedgerEntry): Promise<PostResult>;
  /** Lists entries, newest first. At the time limit, returns those found so far and a cursor. Without `timing`, there is no time limit. */
  listEntries(
    accountId: string,
    beforeNo: string | null,
    limit: number,
    filter?: LedgerFilter,
    timing?: SliceTiming,
  ): Promise<LookedThrough<LedgerEntry>>;
  /** Returns entries of an account by their numbers, oldest first. Those that do not exist are absent. */
  findEntries(accountId: string, entryNos: readonly string[]): Promise<readonly LedgerEntry[]>;
  /** Returns balances by account id. Accounts that do not exist are absent. */
  findBalances(accountIds: readonly string[], periods: RunningPeriods): Promise<Map<string, BalanceState>>;
  /** Changes the terms of an account for all later admissions, on every node. */
  setTerms(accountId: string, terms: LedgerTerms): Promise<void>;
}

export function createLedgerStore(database: PartitionPool): LedgerStore {
  return {
    async post(entry) {
      try {
        return await database.transaction((transaction) => postEntry(transaction, entry));
      } catch (error) {
        if (sqlState(error) === NUMERIC_OUT_OF_RANGE) return { outcome: 'out_of_range' };
        throw error;
      }
    },
    listEntries(accountId, beforeNo, limit, { kind, from, to } = EVERY_ENTRY, timing = UNHURRIED) {
      const batch = kind === null || kind === 'charge' ? batchOfAll : batchOfOthers;
      const isExact = kind === null && from === null && to === null;
      return lookThrough({ start: beforeNo, limit, isExact }, timing, async (after, rows, wanted) => {
        const found = await database.query<BatchEnd>(batch, [accountId, after, rows, wanted, kind, from, to]);
        const items = ENTRIES.all(found.filter((row) => row.entry_no !== null));
        const { last_no: lastNo, rows_read: rowsRead } = found[0]!;
        if (items.length === wanted) return { items, next: String(items.at(-1)!.entryNo) };
        return { items, next: rowsRead < rows ? null : String(lastNo) };
      });
    },
    findEntries: async (accountId, entryNos) =>
      ENTRIES.all(await database.query(selectEntries, [accountId, toArray(entryNos)])),
    async findBalances(accountIds, { dayBeganAtMs, nowMs }) {
      const parameters = [toArray(accountIds), new Date(dayBeganAtMs), new Date(nowMs)];
      const rows = await database.query<StoredRow & { account_id: string }>(selectBalances, parameters);
      return new Map(rows.map((row) => [row.account_id, BALANCES.read(row)]));
    },
    async setTerms(accountId, { dailyCapNano: cap, ownDailyCapNano: own, priceFactorBasisPoints: factor }) {
      const caps = [cap !== undefined, cap ?? null, own !== undefined, own ?? null];
      await database.query(updateTerms, [accountId, ...caps, factor ?? null]);
    },
  };
}

/** SQLSTATE of a value that exceeds the range of its column. */
export const NUMERIC_OUT_OF_RANGE = '22003';

/** Adds a ledger entry. Locks the account first, so that a concurrent repeat of the request finds the first entry. */
export async function postEntry(transaction: PartitionQueryable, entry: NewLedgerEntry): Promise<PostResult> {
  if (!(await lockAccount(transaction, entry.accountId))) return { outcome: 'unknown_account' };
  if (entry.idempotencyKey !== null) {
    const first = await selectKeyedEntry(transaction, entry.accountId, entry.idempotencyKey);
    if (first !== null) {
      const isSame =
        first.kind === entry.kind &&
        first.amountNano === entry.amountNano &&
        first.memo === entry.memo &&
        first.reference === (entry.reference ?? null);
      return isSame ? { outcome: 'repeated', entry: first } : { outcome: 'key_conflict' };
    }
  }
  const { accountId, kind, amountNano, memo, idempotencyKey, at, callId = null, reference = null } = entry;
  const values = [accountId, kind, amountNano, memo, idempotencyKey, at, callId, reference];
  const [row] = await transaction.query(insertEntry, values);
  return { outcome: 'posted', entry: ENTRIES.read(row!) };
}

export async function selectKeyedEntry(
  transaction: PartitionQueryable,
  accountId: string,
  idempotencyKey: string,
): Promise<LedgerEntry | null> {
  return ENTRIES.first(await transaction.query(selectByIdempotencyKey, [accountId, idempotencyKey]));
}

export function routedLedger(routes: Routes<LedgerStore>): LedgerStore {
  return {
    ...routedByAccount<Omit<LedgerStore, 'findBalances'>>(routes, {
      post: accountIdOf,
      listEntries: itself,
      findEntries: itself,
      setTerms: itself,
    }),
    findBalances: (accountIds, periods) =>
      mapByPartition(routes, accountIds, itself, (ledger, those) => ledger.findBalances(those, periods)),
  };
}
