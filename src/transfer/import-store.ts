import { createMonthTable, monthTableOf } from '../accounting/calls/calls-store.ts';
import { ROLLUP_KEY, ROLLUP_SUMS, TOTALS_KEY } from '../accounting/usage/rollup-store.ts';
import { COMMIT_IN_TWO_PHASES, hasCitus } from '../db/citus.ts';
import { fieldsOf } from '../db/columns.ts';
import { type LongTransaction, type Statement, toArray } from '../db/database.ts';
import type { DirectoryDatabase, DirectoryQueryable, PartitionQueryable } from '../db/home-lanes.ts';
import { HOMES, type Table } from '../db/homes.ts';
import { readPartitions } from '../db/partitions-store.ts';
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

/** The SQL of an import, which is one transaction. Rows are the database's own JSON and go in as they are. */

const listNodes: Statement = {
  name: 'import.list-nodes',
  text: `select id from nodes where seen_at > statement_timestamp() - interval '15 seconds' order by id`,
};

/** Whether a table has rows. */
const isFilled = (table: Table): Statement => ({
  name: `import.is-filled-${table}`,
  text: `select exists (select from ${table}) as is_filled`,
});

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

/** Redemptions of the last hour before an export: older ones are as old as what they gave, in each state. Plan: the whole table. */
const LATE = selection({
  accountId: textColumn('r.account_id'),
  codeHash: textColumn(`encode(r.code_hash, 'hex') as code_hash`),
  place: intColumn('a.partition_no::int as place'),
});
const listLate: Statement = {
  name: 'import.list-late-redemptions',
  text: `select ${LATE.list} from voucher_redemptions r join accounts a on a.id = r.account_id
where r.redeemed_at > $1::timestamptz - interval '1 hour'`,
};

/** Those whose account has not been given anything: entries and plans of vouchers have a key made of the code. Plans: ledger_by_idempotency_key, primary key. */
const findNotGiven: Statement = {
  name: 'import.find-not-given',
  text: `select v.code_hash from unnest($1::text[], $2::text[]) as v (account_id, code_hash)
where not exists (select from ledger_entries e where e.account_id = v.account_id and e.idempotency_key = 'voucher ' || v.code_hash)
  and not exists (select from subscription_requests s where s.account_id = v.account_id and s.idempotency_key = 'voucher ' || v.code_hash)`,
};

/** Plan: primary key. */
const removeRedemptions: Statement = {
  name: 'import.remove-redemptions',
  text: `delete from voucher_redemptions where code_hash in (select decode(v, 'hex') from unnest($1::text[]) v)`,
};

const commitInTwoPhases: Statement = { name: 'import.commit-in-two-phases', text: COMMIT_IN_TWO_PHASES };

export type ImportStore = ReturnType<typeof createImportStore>;

export const createImportStore = (directory: DirectoryDatabase) => ({
  /** Runs `work` in a transaction of the directory and all partitions that nothing limits in time. */
  import: <Result>(work: (writer: ImportWriter) => Promise<Result>): Promise<Result> =>
    directory.longTransaction(async (transaction) => {
      if (await hasCitus(transaction)) await transaction.query(commitInTwoPhases);
      return work(await createWriter(transaction));
    }),
});

export type ImportWriter = Awaited<ReturnType<typeof createWriter>>;

/** A place is the number of a partition. */
async function createWriter(directory: LongTransaction) {
  const inserts = new Map<ExportedTable, Statement>();
  const partitions = (await readPartitions(directory)).map(({ schema }) => directory.inSchema(schema));
  /** What has rows of a table. */
  const having = (table: Table): readonly (DirectoryQueryable | PartitionQueryable)[] => (HOMES[table] === 'directory' ? [directory] : partitions);

  return {
    partitions: partitions.length,
    /** Keeps everybody else from writing until the end of the transaction. */
    async lockTables(): Promise<void> {
      for (const table of LOCKED_TABLES) for (const home of having(table)) await home.query(lockTable(table));
    },
    /** Nodes that run on this database. */
    runningNodes: async () => (await directory.query<{ id: string }>(listNodes)).map(({ id }) => id),
    /** Tables that have rows. */
    async filledTables(): Promise<string[]> {
      const filled = new Set<string>();
      for (const table of EXPORTED_TABLES) {
        for (const home of having(table)) {
          const [row] = await home.query<{ is_filled: boolean }>(isFilled(table));
          if (row!.is_filled) filled.add(table);
        }
      }
      return [...filled];
    },
    /** Of each table; the first partition is in the schema of the directory. */
    async readColumns(): Promise<(table: ExportedTable) => string[]> {
      const columns = await directory.query<TableColumn>(listColumns);
      return (table) => columnsOf(table, columns);
    },
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
    /** Prepares the tables of call records of a month, `2026-11`. */
    async prepareMonth(month: string): Promise<void> {
      const table = createMonthTable(monthTableOf(new Date(`${month}-01T00:00:00Z`)));
      for (const partition of partitions) await partition.query(table);
    },
    /** Rows of accounts of a place. What each partition has goes to all of them. */
    async insert(table: ExportedTable, rows: readonly string[], place: number): Promise<void> {
      const parameters = [`[${rows.join(',')}]`, ...(table === 'accounts' ? [place] : [])];
      const homes = isOfAccount(table) ? [partitions[place]!] : having(table);
      for (const home of homes) await home.query(inserts.get(table)!, parameters);
    },
    /** Where an account was put; `null`: it is not there. */
    async placeOf(accountId: string): Promise<number | null> {
      const [row] = await directory.query<{ place: number }>(selectPlace, [accountId]);
      return row?.place ?? null;
    },
    /** Has the sums of usage made from the call records, to which what dropped records said is added. Behind the last row. */
    async sumUsageAnew(): Promise<void> {
      for (const partition of partitions)
        for (const statement of [sumUsageAnew, ...ADD_DROPPED]) await partition.query(statement);
    },
    /** What accounts of a place have; those that are not there are left out. */
    sums: async (accounts: readonly string[], place: number): Promise<AccountEnd[]> =>
      SUMS.all(await partitions[place]!.query(sumAccounts, [toArray(accounts)])),
    /** Of what each partition has, one of them; if they differ, another number than that of the first one. */
    async countRows(table: ExportedTable): Promise<number> {
      const counts: number[] = [];
      for (const home of having(table)) {
        const [row] = await home.query<{ n: number }>({
          name: `import.count-${table}`,
          text: `select count(*)::int as n from ${table}`,
        });
        counts.push(row!.n);
      }
      if (IN_EACH_PARTITION.has(table)) return counts.find((count) => count !== counts[0]) ?? counts[0]!;
      return counts.reduce((sum, count) => sum + count, 0);
    },
    /** Removes redemptions that are later than the state of their accounts. Returns how many. */
    async removeLateRedemptions(exportedAt: string): Promise<number> {
      let removed = 0;
      const late = LATE.all(await directory.query(listLate, [exportedAt]));
      for (const [place, those] of Map.groupBy(late, (each) => each.place)) {
        const names = fieldsOf(those, 'accountId', 'codeHash');
        const found = await partitions[place]!.query<{ code_hash: string }>(findNotGiven, names);
        await directory.query(removeRedemptions, [toArray(found.map(({ code_hash: codeHash }) => codeHash))]);
        removed += found.length;
      }
      return removed;
    },
  };
}
