import { fieldsOf } from '../db/columns.ts';
import { type Statement, toArray } from '../db/database.ts';
import type { DirectoryLane } from '../db/home-lanes.ts';
import { bigintColumn, orNull, type RowOf, selection, textColumn } from '../db/table.ts';

/**
 * The SQL of the thresholds of `balance.low` that accounts have of their own. One is set with a mark, by one statement: until the mark goes,
 * the account is to be looked at (`account-notices.ts`).
 */

/** Accounts with a mark in a slice. */
const MARKED_ROWS = 500;

const THRESHOLDS = selection({
  id: textColumn('id'),
  /** `null`: the configuration's. */
  lowBalanceNano: orNull(bigintColumn('low_balance_nano')),
});

/** An account's threshold of `balance.low`. */
export type LowBalance = Pick<RowOf<typeof THRESHOLDS>, 'lowBalanceNano'>;

/** By the transaction that has written the row: two of them may see the same instant. */
const MARKS = selection({ accountId: textColumn('id'), writtenBy: textColumn('xmin::text as written_by') });

/** That an account's threshold was set. */
type ThresholdMark = RowOf<typeof MARKS>;

/** Plan: primary key, as the next one. */
const selectThresholds: Statement = {
  name: 'thresholds.select',
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

export type ThresholdStore = ReturnType<typeof createThresholdStore>;

export function createThresholdStore(directory: DirectoryLane) {
  return {
    /** `null` if there is no such account. */
    findLowBalance: async (accountId: string): Promise<LowBalance | null> =>
      THRESHOLDS.first(await directory.query(selectThresholds, [toArray([accountId])])),
    /** Returns whether there is such an account. */
    setLowBalance: async (accountId: string, lowBalanceNano: bigint | null) =>
      (await directory.query(updateLowBalance, [accountId, lowBalanceNano])).length > 0,
    /** Those of accounts that are there; `null`: the configuration's. */
    async ofAccounts(accountIds: readonly string[]): Promise<ReadonlyMap<string, bigint | null>> {
      const accounts = THRESHOLDS.all(await directory.query(selectThresholds, [toArray(accountIds)]));
      return new Map(accounts.map(({ id, lowBalanceNano }) => [id, lowBalanceNano]));
    },
    /** Some of the marks of accounts in a partition, those that were set first. */
    listMarks: async (partition = 0) => MARKS.all(await directory.query(selectMarks, [partition])),
    /** The accounts are going to be looked at. */
    async clearMarks(marks: readonly ThresholdMark[]): Promise<void> {
      await directory.query(clearMarks, fieldsOf(marks, 'accountId', 'writtenBy'));
    },
  };
}
