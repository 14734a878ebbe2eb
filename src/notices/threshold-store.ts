import { columnsOf } from '../db/columns.ts';
import { type Statement, toArray } from '../db/database.ts';
import type { DirectoryLane } from '../db/home-lanes.ts';
import { bigintColumn, orNull, type RowOf, selection, textColumn } from '../db/table.ts';

/**
 * The SQL of the thresholds of `balance.low` that accounts have of their own. One is set with a mark, by one statement: until the mark goes,
 * the account is to be looked at (`account-notices.ts`).
 */

/** Accounts with a mark in a slice. */
const MARKED_ROWS = 500;

const LOW_BALANCES = selection({
  /** `null`: the configuration's. */
  lowBalanceNano: orNull(bigintColumn('low_balance_nano')),
});

/** An account's threshold of `balance.low`. */
export type LowBalance = RowOf<typeof LOW_BALANCES>;

const THRESHOLDS = selection({ id: textColumn('id'), lowBalanceNano: orNull(bigintColumn('low_balance_nano')) });

/** By the transaction that has written the row: two of them may see the same instant. */
const MARKS = selection({ accountId: textColumn('id'), writtenBy: textColumn('xmin::text as written_by') });

/** That an account's threshold was set. */
export type ThresholdMark = RowOf<typeof MARKS>;

/** Plan: primary key, as the next one. */
const selectLowBalance: Statement = {
  name: 'thresholds.select',
  text: `select ${LOW_BALANCES.list} from accounts where id = $1`,
};

const selectThresholds: Statement = {
  name: 'thresholds.select-all',
  text: `select ${THRESHOLDS.list} from accounts where id = any ($1::text[])`,
};

const updateLowBalance: Statement = {
  name: 'thresholds.update',
  text: `update accounts set low_balance_nano = $2::bigint, low_balance_set_at = clock_timestamp() where id = $1 returning id`,
};

/** Plan: accounts_by_new_threshold. */
const selectMarks: Statement = {
  name: 'thresholds.select-marks',
  text: `select ${MARKS.list} from accounts where low_balance_set_at is not null and partition_no = $1::smallint
order by low_balance_set_at, id limit ${MARKED_ROWS}`,
};

/** Those of accounts that nobody has changed since, and nobody changes now. The others come again. Plan: primary key. */
const clearMarks: Statement = {
  name: 'thresholds.clear-marks',
  text: `update accounts set low_balance_set_at = null where id in (
  select a.id from unnest($1::text[], $2::xid[]) as v (id, written_by)
  join accounts a on a.id = v.id and a.xmin = v.written_by
  for no key update of a skip locked
)`,
};

export interface ThresholdStore {
  /** `null` if there is no such account. */
  findLowBalance(accountId: string): Promise<LowBalance | null>;
  /** Returns whether there is such an account. */
  setLowBalance(accountId: string, lowBalanceNano: bigint | null): Promise<boolean>;
  /** Those of accounts that are there; `null`: the configuration's. */
  ofAccounts(accountIds: readonly string[]): Promise<ReadonlyMap<string, bigint | null>>;
  /** Some of the marks of accounts in a partition, those that were set first. */
  listMarks(partition?: number): Promise<readonly ThresholdMark[]>;
  /** The accounts are going to be looked at. */
  clearMarks(marks: readonly ThresholdMark[]): Promise<void>;
}

export function createThresholdStore(directory: DirectoryLane): ThresholdStore {
  return {
    findLowBalance: async (accountId) => LOW_BALANCES.first(await directory.query(selectLowBalance, [accountId])),
    setLowBalance: async (accountId, lowBalanceNano) =>
      (await directory.query(updateLowBalance, [accountId, lowBalanceNano])).length > 0,
    async ofAccounts(accountIds) {
      const accounts = THRESHOLDS.all(await directory.query(selectThresholds, [toArray(accountIds)]));
      return new Map(accounts.map(({ id, lowBalanceNano }) => [id, lowBalanceNano]));
    },
    listMarks: async (partition = 0) => MARKS.all(await directory.query(selectMarks, [partition])),
    async clearMarks(marks) {
      const names = columnsOf(
        marks,
        ({ accountId }) => accountId,
        ({ writtenBy }) => writtenBy,
      );
      await directory.query(clearMarks, names);
    },
  };
}
