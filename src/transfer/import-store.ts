import { createMonthTable, monthTableOf } from '../accounting/calls/calls-store.ts';
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

/** Whether a table has rows. */
const isFilled = (table: ExportedTable): Statement => ({
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

const listColumns: Statement = {
  name: 'import.list-columns',
  text: `select c.relname as table_name, a.attname as column_name
from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
order by c.relname, a.attnum`,
};

/** Columns that say something of the database that was exported, so that they are here what they are by default. */
const LEFT_OUT: Partial<Record<ExportedTable, string>> = {
  calls: 'is_queued',
  // Partitions are those of a database.
  accounts: 'partition_no',
  new_accounts: 'partition_no',
};

/** @param columns names that the table has; others of its columns are what they are by default. */
function insertInto(table: ExportedTable, columns: readonly string[]): Statement {
  const names = columns.filter((name) => name !== LEFT_OUT[table]).join(', ');
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

const droppedSums = (key: readonly string[]): string => `(${[...key, ...ROLLUP_SUMS].join(', ')})
select ${[...key, ...ROLLUP_SUMS.map((name) => `sum(${name})`)].join(', ')} from dropped_usage group by ${key.join(', ')}`;

/** What records said that were dropped, and whose sums no record makes anew. */
const ADD_DROPPED: readonly Statement[] = [
  { name: 'import.add-dropped-usage', text: `insert into usage_rollups ${droppedSums(ROLLUP_KEY)}` },
  { name: 'import.add-dropped-totals', text: `insert into usage_totals ${droppedSums(TOTALS_KEY)}` },
];

/** Goes on from now, and not since it was begun elsewhere. */
const GO_ON: readonly Statement[] = [
  { name: 'import.go-on-with-accounts', text: 'update new_accounts set under_way_since = clock_timestamp()' },
  {
    name: 'import.go-on-with-redemptions',
    text: 'update voucher_redemptions set under_way_since = clock_timestamp() where under_way_since is not null',
  },
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

/** Plans: primary keys. */
const findStrangers: Readonly<Record<(typeof OWNED)[number]['by'], Statement>> = {
  account: {
    name: 'import.find-strange-accounts',
    text: `select v.account_id, v.key_id from unnest($1::text[], $2::text[]) as v (account_id, key_id)
where not exists (select from accounts a where a.id = v.account_id) limit 1`,
  },
  key: {
    name: 'import.find-strange-keys',
    text: `select v.account_id, v.key_id from unnest($1::text[], $2::text[]) as v (account_id, key_id)
where not exists (select from api_keys k where k.account_id = v.account_id and k.id = v.key_id) limit 1`,
  },
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
  /** Prepares the table of call records of a month, `2026-11`. */
  prepareMonth(month: string): Promise<void>;
  insert(table: ExportedTable, rows: readonly string[]): Promise<void>;
  /** Has the sums of usage made from the call records. */
  sumUsageAnew(): Promise<void>;
  /** Adds what dropped records said to the sums of usage, behind the last row. */
  addDroppedUsage(): Promise<void>;
  /** What is under way goes on here, behind the last row. */
  goOn(): Promise<void>;
  /** What accounts have; those that are not there are left out. */
  sums(accounts: readonly string[]): Promise<AccountEnd[]>;
  countRows(table: ExportedTable): Promise<number>;
  /** A row whose account or key is not there; `null`: each is. */
  findStranger(): Promise<{ readonly table: ExportedTable; readonly accountId: string; readonly keyId: string } | null>;
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
      for (const table of LOCKED_TABLES) await transaction.query(lockTable(table));
    },
    runningNodes: async () => (await transaction.query<{ id: string }>(listNodes)).map(({ id }) => id),
    async filledTables() {
      const filled: string[] = [];
      for (const table of EXPORTED_TABLES) {
        const [row] = await transaction.query<{ is_filled: boolean }>(isFilled(table));
        if (row!.is_filled) filled.push(table);
      }
      return filled;
    },
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
    async prepareMonth(month) {
      await transaction.query(createMonthTable(monthTableOf(new Date(`${month}-01T00:00:00Z`))));
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
    async goOn() {
      for (const statement of GO_ON) await transaction.query(statement);
    },
    sums: async (accounts) => SUMS.all(await transaction.query(sumAccounts, [toArray(accounts)])),
    async countRows(table) {
      const [row] = await transaction.query<{ n: number }>({
        name: `import.count-${table}`,
        text: `select count(*)::int as n from ${table}`,
      });
      return row!.n;
    },
    async findStranger() {
      for (const owned of OWNED) {
        for (let last = { accountId: '', keyId: '' }, isMore = true; isMore; ) {
          const owners = OWNERS.all(await transaction.query(listOwners(owned), [last.accountId, last.keyId]));
          const names = [owners.map(({ accountId }) => accountId), owners.map(({ keyId }) => keyId)].map(toArray);
          const stranger = OWNERS.first(await transaction.query(findStrangers[owned.by], names));
          if (stranger !== null) return { table: owned.table, ...stranger };
          last = owners.at(-1) ?? last;
          isMore = owners.length === OWNERS_AT_ONCE;
        }
      }
      return null;
    },
  };
}
