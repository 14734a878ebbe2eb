import { type Statement, toArray } from '../../db/database.ts';
import type { DirectoryPool } from '../../db/home-pools.ts';
import { NODE_SILENCE_S } from '../../db/migration-waits.ts';
import { countColumn, intColumn, type RowOf, selection, textColumn } from '../../db/table.ts';

const PLACED = selection({
  accountId: textColumn('id as account_id'),
  partition: intColumn('partition_no as partition'),
});

const selectPartitions: Statement = {
  name: 'accounts.select-partitions',
  text: `select ${PLACED.list} from accounts where id = any($1::text[])`,
};

const COUNTS = selection({
  partition: intColumn('partition_no as partition'),
  accounts: countColumn('count(*) as accounts'),
});

const TAKING = selection({ number: intColumn('p.number') });

/** Counts accounts per partition. Scans the whole table; each process does this rarely (`placement.ts`). */
const countAccounts: Statement = {
  name: 'accounts.count-by-partition',
  text: `select ${COUNTS.list} from accounts group by partition_no`,
};

/** Selects partitions that take new accounts. A node that is older than a partition may not have opened it. Scans small tables. */
const listTaking: Statement = {
  name: 'partitions.list-taking',
  text: `select ${TAKING.list} from partitions p where p.number = 0 or not exists (
  select from nodes n
  where n.started_at < p.created_at and n.seen_at > statement_timestamp() - interval '${NODE_SILENCE_S} seconds'
) order by p.number`,
};

export type AccountPartitionStore = ReturnType<typeof createAccountPartitionStore>;

export const createAccountPartitionStore = (directory: DirectoryPool) => ({
  /** Returns the number of accounts per partition. Empty partitions may be absent. */
  count: async (): Promise<readonly RowOf<typeof COUNTS>[]> => COUNTS.all(await directory.query(countAccounts)),
  listTaking: async (): Promise<readonly number[]> =>
    TAKING.all(await directory.query(listTaking)).map(({ number }) => number),
  /** Returns the partitions of accounts. Accounts that do not exist are absent. */
  find: async (accountIds: readonly string[], signal?: AbortSignal): Promise<readonly RowOf<typeof PLACED>[]> =>
    PLACED.all(await directory.query(selectPartitions, [toArray(accountIds)], signal)),
});
