import { createPartition, partitionOf } from '../accounting/calls/calls-store.ts';
import { ROLLUP_KEY, ROLLUP_SUMS, TOTALS_KEY } from '../accounting/usage/rollup-store.ts';
import { type Database, type Queryable, type Statement, toArray } from '../db/database.ts';
import { intColumn, selection, textColumn } from '../db/table.ts';
import type { AccountEnd } from './format.ts';
import { EXPORTED_TABLES, type ExportedTable } from './tables.ts';

/**
 * The SQL of an import: all of it is one transaction, so that it is there or is not. Rows are the database's own JSON and go
 * in as they are.
 */

const listNodes: Statement = {
  name: 'import.list-nodes',
  text: `select id from nodes where seen_at > statement_timestamp() - interval '15 seconds' order by id`,
};

/** Which tables have rows. */
const listFilled: Statement = {
  name: 'import.list-filled',
  text: EXPORTED_TABLES.map((table) => `select '${table}' as name where exists (select from ${table})`).join(
    '\nunion all ',
  ),
};

/** Nothing else gets in while rows are compared and written; a gateway that starts waits. */
const lockTables: Statement = {
  name: 'import.lock-tables',
  text: `lock table ${EXPORTED_TABLES.join(', ')}, nodes, database_identity in share row exclusive mode`,
};

const listColumns: Statement = {
  name: 'import.list-columns',
  text: `select c.relname as table_name, a.attname as column_name
from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
order by c.relname, a.attnum`,
};

/** Says something of the database that was exported, so that it is here what it is by default. */
const LEFT_OUT = { table: 'calls', column: 'is_queued' };

/** @param columns names that the table has; others of its columns are what they are by default. */
function insertInto(table: ExportedTable, columns: readonly string[]): Statement {
  const names = columns.filter((name) => table !== LEFT_OUT.table || name !== LEFT_OUT.column).join(', ');
  return {
    name: `import.insert-${table}`,
    text: `insert into ${table} (${names}) select ${names} from json_populate_recordset(null::${table}, $1::json)`,
  };
}

/** Call records are summed from the first one on when a gateway runs. Refunds were queued when their entries were inserted. */
const sumUsageAnew: Statement = {
  name: 'import.sum-usage-anew',
  text: `update usage_backfill set last_call_id = '', is_done = false`,
};

/** What records said that were dropped, and whose sums no record makes anew. */
const addDropped = (table: string, key: readonly string[]): Statement => ({
  name: `import.add-dropped-${table}`,
  text: `insert into ${table} (${[...key, ...ROLLUP_SUMS].join(', ')})
select ${[...key, ...ROLLUP_SUMS.map((name) => `sum(${name})`)].join(', ')} from dropped_usage group by ${key.join(', ')}`,
});

const ADD_DROPPED = [addDropped('usage_rollups', ROLLUP_KEY), addDropped('usage_totals', TOTALS_KEY)];

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

export interface ImportStore {
  /** Runs `work` in one transaction, which nothing limits in time. */
  import<Result>(work: (writer: ImportWriter) => Promise<Result>): Promise<Result>;
}

export interface ImportWriter {
  /** Keeps everybody else from writing until the end of the transaction. */
  lockTables(): Promise<void>;
  /** Nodes that run on this database. */
  runningNodes(): Promise<string[]>;
  /** Tables that have rows. */
  filledTables(): Promise<string[]>;
  columnsOf(table: ExportedTable): Promise<string[]>;
  /** From now on rows of the table have these columns, which it has too. */
  useColumns(table: ExportedTable, columns: readonly string[]): void;
  /** Whether the database is the demo's; `null` if no gateway has served it. */
  isDemo(): Promise<boolean | null>;
  setIdentity(id: string, isDemo: boolean | null): Promise<void>;
  /** Prepares the partition of call records of a month, `2026-11`. */
  preparePartition(month: string): Promise<void>;
  insert(table: ExportedTable, rows: readonly string[]): Promise<void>;
  /** Has the sums of usage made from the call records. */
  sumUsageAnew(): Promise<void>;
  /** Adds what dropped records said to the sums of usage, behind the last row. */
  addDroppedUsage(): Promise<void>;
  /** What accounts have; those that are not there are left out. */
  sums(accounts: readonly string[]): Promise<AccountEnd[]>;
  countRows(table: ExportedTable): Promise<number>;
}

export function createImportStore(database: Database): ImportStore {
  return { import: (work) => database.longTransaction((transaction) => work(createWriter(transaction))) };
}

function createWriter(transaction: Queryable): ImportWriter {
  const inserts = new Map<ExportedTable, Statement>();
  async function columnsOf(table: ExportedTable): Promise<string[]> {
    const rows = await transaction.query<{ table_name: string; column_name: string }>(listColumns);
    return rows.filter((row) => row.table_name === table).map((row) => row.column_name);
  }
  return {
    async lockTables() {
      await transaction.query(lockTables);
    },
    runningNodes: async () => (await transaction.query<{ id: string }>(listNodes)).map(({ id }) => id),
    filledTables: async () => (await transaction.query<{ name: string }>(listFilled)).map(({ name }) => name),
    columnsOf,
    useColumns(table, columns) {
      inserts.set(table, insertInto(table, columns));
    },
    async isDemo() {
      const [row] = await transaction.query<{ is_demo: boolean | null }>(selectMark);
      return row!.is_demo;
    },
    async setIdentity(id, isDemo) {
      await transaction.query(setIdentity, [id, isDemo]);
    },
    async preparePartition(month) {
      await transaction.query(createPartition(partitionOf(new Date(`${month}-01T00:00:00Z`))));
    },
    async insert(table, rows) {
      await transaction.query(inserts.get(table)!, [`[${rows.join(',')}]`]);
    },
    async sumUsageAnew() {
      await transaction.query(sumUsageAnew);
    },
    async addDroppedUsage() {
      for (const statement of ADD_DROPPED) await transaction.query(statement);
    },
    sums: async (accounts) => SUMS.all(await transaction.query(sumAccounts, [toArray(accounts)])),
    async countRows(table) {
      const [row] = await transaction.query<{ n: number }>({
        name: `import.count-${table}`,
        text: `select count(*)::int as n from ${table}`,
      });
      return row!.n;
    },
  };
}
