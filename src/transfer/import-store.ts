import { isOfKey } from '../accounting/accounts/key-limit-tables.ts';
import { createMonthTable, monthTableOf } from '../accounting/calls/calls-store.ts';
import { inPartition } from '../accounting/partitions/partition-failures.ts';
import { ROLLUP_KEY, ROLLUP_SUMS, TOTALS_KEY } from '../accounting/usage/rollup-store.ts';
import { ALLOW_TRIGGERS } from '../db/citus.ts';
import { type Statement, toArray } from '../db/database.ts';
import type { Databases } from '../db/databases.ts';
import type { DirectoryQueryable, PartitionedQueryables, PartitionQueryable } from '../db/home-lanes.ts';
import { HOMES, type Table } from '../db/homes.ts';
import { intColumn, selection, textColumn } from '../db/table.ts';
import type { AccountEnd } from './format.ts';
import {
  columnsOf,
  EXPORTED_TABLES,
  type ExportedTable,
  IN_EACH_PARTITION,
  listColumns,
  PLACE_COLUMN,
  type TableColumn,
} from './tables.ts';

/**
 * The SQL of an import: all of it is in transactions of which that of the directory is committed last, so that it is there or is not. Rows
 * are the database's own JSON and go in as they are.
 */

const listNodes: Statement = {
  name: 'import.list-nodes',
  text: `select id from nodes where seen_at > statement_timestamp() - interval '15 seconds' order by id`,
};

/** Whether a table has rows. */
const isFilled = (table: Table): Statement => ({
  name: `import.is-filled-${table}`,
  text: `select exists (select from ${table}) as is_filled`,
});

/** One at a time, always in the same order: the tables have two homes. */
const LOCKED_TABLES = [...EXPORTED_TABLES, 'nodes', 'database_identity'] as const;

/** Nothing else gets in while rows are compared and written; a gateway that starts waits. */
const lockTable = (table: (typeof LOCKED_TABLES)[number]): Statement => ({
  name: `import.lock-${table}`,
  text: `lock table ${table} in share row exclusive mode`,
});

/** Columns that say something of the database that was exported, so that they are here what they are by default. */
const LEFT_OUT: Partial<Record<ExportedTable, string>> = { calls: 'is_queued' };

/** @param columns names that the table has; others of its columns are what they are by default. */
function insertInto(table: ExportedTable, columns: readonly string[]): Statement {
  const names = columns.filter((name) => name !== LEFT_OUT[table]).join(', ');
  const [placeName, place] = table === 'accounts' ? [`, ${PLACE_COLUMN}`, ', $2::smallint'] : ['', ''];
  return {
    name: `import.insert-${table}`,
    text: `insert into ${table} (${names}${placeName})
select ${names}${place} from json_populate_recordset(null::${table}, $1::json)`,
  };
}

/** Whose rows are in the partition of their account, and not in each. */
export const isOfAccount = (table: ExportedTable): boolean =>
  HOMES[table] === 'partition' && !IN_EACH_PARTITION.has(table);

/** A partition behind the first one, if its directory has no accounts. `usage_backfill` has the row that it always has. */
const EMPTIED = (Object.keys(HOMES) as Table[]).filter(
  (table) => HOMES[table] === 'partition' && table !== 'usage_backfill',
);

const emptyTable = (table: Table): Statement => ({ name: `import.empty-${table}`, text: `truncate ${table}` });

/** Without Citus it says nothing. */
const allowTriggers: Statement = { name: 'import.allow-triggers', text: ALLOW_TRIGGERS };

/** The ledger refuses to be emptied. */
const suspendTriggers: Statement = {
  name: 'import.suspend-triggers',
  text: 'alter table ledger_entries disable trigger user',
};
const resumeTriggers: Statement = {
  name: 'import.resume-triggers',
  text: 'alter table ledger_entries enable trigger user',
};

/** Plan: primary key. */
const selectPlace: Statement = {
  name: 'import.select-place',
  text: 'select partition_no::int as place from accounts where id = $1::text',
};

/** Call records are summed from the first one on when a gateway runs. Refunds were queued when their entries were inserted. */
const sumUsageAnew: Statement = {
  name: 'import.sum-usage-anew',
  text: `update usage_backfill set last_call_id = '', is_done = false`,
};

const droppedSums = (key: readonly string[]): string => `(${[...key, ...ROLLUP_SUMS].join(', ')})
select ${[...key, ...ROLLUP_SUMS.map((name) => `sum(${name})`)].join(', ')} from dropped_usage group by ${key.join(', ')}`;

/** What records said that were dropped, and whose sums no record makes anew. */
const ADD_DROPPED: readonly Statement[] = [
  { name: 'import.add-dropped-usage', text: `insert into usage_rollups ${droppedSums(ROLLUP_KEY)}` },
  { name: 'import.add-dropped-totals', text: `insert into usage_totals ${droppedSums(TOTALS_KEY)}` },
];

const setIdentity: Statement = {
  name: 'import.set-identity',
  text: 'update database_identity set id = $1::text, is_demo = $2::boolean',
};

const selectMark: Statement = { name: 'import.select-mark', text: 'select is_demo from database_identity' };

const SUMS = selection({
  account: textColumn('b.account_id'),
  balance: textColumn('b.balance_nano::text as balance_nano'),
  entries: intColumn('e.entries'),
  entriesSum: textColumn('e.entries_sum'),
  calls: intColumn('c.calls'),
  chargesSum: textColumn('c.charges_sum'),
});

/** What accounts have now. Plans: primary keys. */
const sumAccounts: Statement = {
  name: 'import.sum-accounts',
  text: `select ${SUMS.list}
from unnest($1::text[]) as wanted (account_id)
join balances b using (account_id)
cross join lateral (
  select count(*)::int as entries, coalesce(sum(amount_nano), 0)::text as entries_sum
  from ledger_entries where account_id = wanted.account_id
) e
cross join lateral (
  select count(*)::int as calls, coalesce(sum(charge_nano), 0)::text as charges_sum
  from calls where account_id = wanted.account_id
) c`,
};

/** Rows of one home that belong to what is in the other: no foreign key says so. */
const OWNED = [
  { table: 'balances', by: 'account', key: `''` },
  { table: 'rate_limits', by: 'account', key: `''` },
  { table: 'subscriptions', by: 'account', key: `''` },
  { table: 'subscription_requests', by: 'account', key: `''` },
  { table: 'plan_periods', by: 'account', key: `''` },
  { table: 'key_limits', by: 'key', key: 'key_id' },
] as const;

const OWNERS_AT_ONCE = 1_000;

const OWNERS = selection({ accountId: textColumn('account_id'), keyId: textColumn('key_id') });

/** Whom rows of a table belong to, behind some of them. Plans: primary keys. */
const listOwners = ({ table, key }: (typeof OWNED)[number]): Statement => ({
  name: `import.list-owners-${table}`,
  text: `select distinct account_id, ${key} as key_id from ${table}
where (account_id, ${key}) > ($1::text, $2::text) order by account_id, key_id limit ${OWNERS_AT_ONCE}`,
});

/** SQL: whether an owner has an account in the partition $3. */
const isInPartition = 'exists (select from accounts a where a.id = v.account_id and a.partition_no = $3::int)';

/** Plans: primary keys. */
const findStrangers: Readonly<Record<(typeof OWNED)[number]['by'], Statement>> = {
  account: {
    name: 'import.find-strange-accounts',
    text: `select v.account_id, v.key_id from unnest($1::text[], $2::text[]) as v (account_id, key_id)
where not ${isInPartition} limit 1`,
  },
  key: {
    name: 'import.find-strange-keys',
    text: `select v.account_id, v.key_id from unnest($1::text[], $2::text[]) as v (account_id, key_id)
where ${isOfKey('v.key_id')} and not exists (select from api_keys k where k.account_id = v.account_id and k.id = v.key_id)
  or not ${isInPartition} limit 1`,
  },
};

export type ImportStore = ReturnType<typeof createImportStore>;

export function createImportStore({ longTransaction }: Pick<Databases, 'longTransaction'>) {
  return {
    /** Runs `work` in transactions that nothing limits in time. That of the directory is committed last. */
    import: <Result>(work: (writer: ImportWriter) => Promise<Result>): Promise<Result> =>
      longTransaction((transactions) => work(createWriter(transactions))),
  };
}

export type ImportWriter = ReturnType<typeof createWriter>;

/** A place is the number of a partition. */
function createWriter({ directory, partitions: transactions }: PartitionedQueryables) {
  const inserts = new Map<ExportedTable, Statement>();
  const partitions = transactions.map(
    (transaction, number): PartitionQueryable => ({
      query: (...asked) => inPartition(number, transactions.length, () => transaction.query(...asked)),
    }),
  );
  const isOfDirectory = (table: Table): boolean => HOMES[table] === 'directory';
  /** What has the rows of a table of accounts of a place. */
  const at = (table: Table, place: number): DirectoryQueryable | PartitionQueryable =>
    isOfDirectory(table) ? directory : partitions[place]!;
  /** What has rows of a table. */
  const having = (table: Table): readonly (DirectoryQueryable | PartitionQueryable)[] =>
    isOfDirectory(table) ? [directory] : partitions;
  async function isFilledIn(transaction: DirectoryQueryable | PartitionQueryable, table: Table): Promise<boolean> {
    const [row] = await transaction.query<{ is_filled: boolean }>(isFilled(table));
    return row!.is_filled;
  }
  async function empty(transaction: PartitionQueryable): Promise<boolean> {
    const left: Table[] = [];
    for (const table of EMPTIED) if (await isFilledIn(transaction, table)) left.push(table);
    if (left.length === 0) return false;
    await transaction.query(allowTriggers);
    await transaction.query(suspendTriggers);
    for (const table of left) await transaction.query(emptyTable(table));
    await transaction.query(resumeTriggers);
    return true;
  }

  return {
    partitions: partitions.length,
    /** Keeps everybody else from writing until the end of the transaction. */
    async lockTables(): Promise<void> {
      for (const table of LOCKED_TABLES)
        for (const transaction of having(table)) await transaction.query(lockTable(table));
    },
    /** Nodes that run on this database. */
    runningNodes: async () => (await directory.query<{ id: string }>(listNodes)).map(({ id }) => id),
    /** Tables of the directory and of the first partition that have rows. */
    async filledTables(): Promise<string[]> {
      const filled: string[] = [];
      for (const table of EXPORTED_TABLES) if (await isFilledIn(at(table, 0), table)) filled.push(table);
      return filled;
    },
    /**
     * Empties further partitions. There must be no account: what they have is of an import that was interrupted behind its first commit, and
     * nobody can reach it. Returns those that had rows.
     */
    async emptyFurther(): Promise<number[]> {
      const emptied: number[] = [];
      for (const [number, partition] of partitions.entries())
        if (number > 0 && (await empty(partition))) emptied.push(number);
      return emptied;
    },
    columnsOf: async (table: ExportedTable) => columnsOf(table, await at(table, 0).query<TableColumn>(listColumns)),
    /** From now on rows of the table have these columns, which it has too. */
    useColumns(table: ExportedTable, columns: readonly string[]): void {
      inserts.set(table, insertInto(table, columns));
    },
    /** Whether the database is the demo's; `null` if no gateway has served it. */
    async isDemo(): Promise<boolean | null> {
      const [row] = await directory.query<{ is_demo: boolean | null }>(selectMark);
      return row!.is_demo;
    },
    async setIdentity(id: string, isDemo: boolean | null): Promise<void> {
      await directory.query(setIdentity, [id, isDemo]);
    },
    /** Prepares the table of call records of a month, `2026-11`. */
    async prepareMonth(month: string, place: number): Promise<void> {
      await partitions[place]!.query(createMonthTable(monthTableOf(new Date(`${month}-01T00:00:00Z`))));
    },
    /** Rows of accounts of a place. What each partition has goes to all of them. */
    async insert(table: ExportedTable, rows: readonly string[], place: number): Promise<void> {
      const parameters = [`[${rows.join(',')}]`, ...(table === 'accounts' ? [place] : [])];
      const transactions = IN_EACH_PARTITION.has(table) ? partitions : [at(table, place)];
      for (const transaction of transactions) await transaction.query(inserts.get(table)!, parameters);
    },
    /** Where an account was put; `null`: it is not there. */
    async placeOf(accountId: string): Promise<number | null> {
      const [row] = await directory.query<{ place: number }>(selectPlace, [accountId]);
      return row?.place ?? null;
    },
    /** Has the sums of usage made from the call records. */
    async sumUsageAnew(): Promise<void> {
      for (const partition of partitions) await partition.query(sumUsageAnew);
    },
    /** Adds what dropped records said to the sums of usage, behind the last row. */
    async addDroppedUsage(): Promise<void> {
      for (const partition of partitions) for (const statement of ADD_DROPPED) await partition.query(statement);
    },
    /** What accounts of a place have; those that are not there are left out. */
    sums: async (accounts: readonly string[], place: number): Promise<AccountEnd[]> =>
      SUMS.all(await partitions[place]!.query(sumAccounts, [toArray(accounts)])),
    /** Of what each partition has, one of them; if they differ, another number than that of the first one. */
    async countRows(table: ExportedTable): Promise<number> {
      const counts: number[] = [];
      for (const transaction of having(table)) {
        const [row] = await transaction.query<{ n: number }>({
          name: `import.count-${table}`,
          text: `select count(*)::int as n from ${table}`,
        });
        counts.push(row!.n);
      }
      if (IN_EACH_PARTITION.has(table)) return counts.find((count) => count !== counts[0]) ?? counts[0]!;
      return counts.reduce((sum, count) => sum + count, 0);
    },
    /** A row whose account is not in its partition, or whose key is not there; `null`: each is. */
    async findStranger() {
      for (const [number, partition] of partitions.entries()) {
        for (const owned of OWNED) {
          for (let last = { accountId: '', keyId: '' }, isMore = true; isMore; ) {
            const owners = OWNERS.all(await partition.query(listOwners(owned), [last.accountId, last.keyId]));
            const names = [owners.map(({ accountId }) => accountId), owners.map(({ keyId }) => keyId)].map(toArray);
            const stranger = OWNERS.first(await directory.query(findStrangers[owned.by], [...names, number]));
            if (stranger !== null) return { table: owned.table, ...stranger };
            last = owners.at(-1) ?? last;
            isMore = owners.length === OWNERS_AT_ONCE;
          }
        }
      }
      return null;
    },
  };
}
