import { createMonthTable, monthTableOf } from '../accounting/calls/calls-store.ts';
import { ROLLUP_KEY, ROLLUP_SUMS, TOTALS_KEY } from '../accounting/usage/rollup-columns.ts';
import { COMMIT_IN_TWO_PHASES, hasCitus } from '../db/citus.ts';
import { fieldsOf } from '../db/columns.ts';
import { type LongTransaction, type Statement, toArray } from '../db/database.ts';
import type { DirectoryDatabase } from '../db/home-pools.ts';
import { HOMES, type Home } from '../db/homes.ts';
import { readPartitions } from '../db/partitions-store.ts';
import { intColumn, selection, textColumn } from '../db/table.ts';
import type { AccountEnd } from './format.ts';
import {
  byTable,
  EXPORTED_TABLES,
  type ExportedTable,
  IN_EACH_PARTITION,
  PLACE_COLUMN,
  readColumns,
} from './tables.ts';

/** An import is one transaction. It inserts rows as the JSON that the database exported. */

const listNodes: Statement = {
  name: 'import.list-nodes',
  text: `select id from nodes where seen_at > statement_timestamp() - interval '15 seconds' order by id`,
};

const tablesIn = (home: Home): readonly ExportedTable[] => EXPORTED_TABLES.filter((table) => HOMES[table] === home);

/** Locks all tables, so that nobody else can write while rows are inserted and compared. A gateway that starts waits. */
const lockTables = (home: Home): Statement => ({
  name: `import.lock-${home}`,
  text: `lock table ${tablesIn(home).join(', ')} in share row exclusive mode`,
});
const lockNodes: Statement = {
  name: 'import.lock-nodes',
  text: 'lock table nodes, database_identity in share row exclusive mode',
};

/** Deletes what a gateway has recorded of the catalog in its file, when it was started once. The import brings other records. */
const deleteFileRecords: Statement = {
  name: 'import.delete-file-records',
  text: `delete from catalog_revisions where source = 'file'
  and not exists (select from catalog_revisions other where other.source <> 'file')`,
};

const ofEachTable = (home: Home, what: string, read: (table: ExportedTable) => string): Statement => ({
  name: `import.${what}-${home}`,
  text: tablesIn(home).map(read).join('\nunion all '),
});

const listFilled = (home: Home): Statement =>
  ofEachTable(home, 'list-filled', (table) => `select '${table}' as name where exists (select from ${table})`);

const countRows = (home: Home): Statement =>
  ofEachTable(home, 'count-rows', (table) => `select '${table}' as name, count(*)::int as n from ${table}`);

/** Columns that an import leaves out, because their values apply only to the exported database. They get their defaults. */
const LEFT_OUT: Partial<Record<ExportedTable, string>> = { calls: 'is_queued' };

/** Inserts rows. Columns that the file does not contain get their defaults. */
function insertInto(table: ExportedTable, columns: readonly string[]): Statement {
  const names = columns.filter((name) => name !== LEFT_OUT[table]).join(', ');
  const [placeName, place] = table === 'accounts' ? [`, ${PLACE_COLUMN}`, ', $2::smallint'] : ['', ''];
  return {
    name: `import.insert-${table}`,
    text: `insert into ${table} (${names}${placeName})
select ${names}${place} from json_populate_recordset(null::${table}, $1::json)`,
  };
}

/** Whether rows of a table belong to an account. False for tables that each partition has. */
export const isOfAccount = (table: ExportedTable): boolean =>
  HOMES[table] === 'partition' && !IN_EACH_PARTITION.has(table);

const selectPlace: Statement = {
  name: 'import.select-place',
  text: 'select partition_no::int as place from accounts where id = $1::text',
};

/** Starts the usage sums again at the first call record. Refunds were queued when their entries were inserted. */
const recomputeUsage: Statement = {
  name: 'import.sum-usage-anew',
  text: `update usage_backfill set last_call_id = '', is_done = false`,
};

const droppedSums = (key: readonly string[]): string => `(${[...key, ...ROLLUP_SUMS].join(', ')})
select ${[...key, ...ROLLUP_SUMS.map((name) => `sum(${name})`)].join(', ')} from dropped_usage group by ${key.join(', ')}`;

/** Adds sums of dropped records, which cannot be computed from any record. */
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

/** Sums the entries of accounts. Uses primary keys. */
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

const LATE = selection({
  accountId: textColumn('r.account_id'),
  codeHash: textColumn(`encode(r.code_hash, 'hex') as code_hash`),
  place: intColumn('a.partition_no::int as place'),
});
/** Lists redemptions after an instant; older ones are in every snapshot. Reads the whole table. */
const listLate: Statement = {
  name: 'import.list-late-redemptions',
  text: `select ${LATE.list} from voucher_redemptions r join accounts a on a.id = r.account_id
where r.redeemed_at > $1::timestamptz - interval '1 hour'`,
};

/** Finds redemptions that gave nothing: a gift has an idempotency key derived from the voucher's code. Uses ledger_by_idempotency_key. */
const findUngranted: Statement = {
  name: 'import.find-not-given',
  text: `select v.code_hash from unnest($1::text[], $2::text[]) as v (account_id, code_hash)
where not exists (select from ledger_entries e where e.account_id = v.account_id and e.idempotency_key = 'voucher ' || v.code_hash)
  and not exists (select from subscription_requests s where s.account_id = v.account_id and s.idempotency_key = 'voucher ' || v.code_hash)`,
};

const removeRedemptions: Statement = {
  name: 'import.remove-redemptions',
  text: `delete from voucher_redemptions where code_hash in (select decode(v, 'hex') from unnest($1::text[]) v)`,
};

const commitInTwoPhases: Statement = { name: 'import.commit-in-two-phases', text: COMMIT_IN_TWO_PHASES };

/** Runs an import as one transaction over the directory and all partitions, without a time limit. */
export const importInto = <Result>(
  directory: DirectoryDatabase,
  work: (writer: ImportWriter) => Promise<Result>,
): Promise<Result> =>
  directory.longTransaction(async (transaction) => {
    if (await hasCitus(transaction)) await transaction.query(commitInTwoPhases);
    return work(await createWriter(transaction));
  });

export type ImportWriter = Awaited<ReturnType<typeof createWriter>>;

/** Creates the writer of an import. Its methods take a partition number as `place`. */
async function createWriter(directory: LongTransaction) {
  const inserts = new Map<ExportedTable, Statement>();
  const partitions = (await readPartitions(directory)).map(({ schema }) => directory.inSchema(schema));
  /** Runs a statement in the directory first, then in each partition. */
  async function* ofEachHome<Row>(statement: (home: Home) => Statement): AsyncGenerator<readonly [Row[], number]> {
    yield [await directory.query<Row>(statement('directory')), 0];
    for (const [number, partition] of partitions.entries())
      yield [await partition.query<Row>(statement('partition')), number];
  }

  return {
    partitions: partitions.length,
    /** Locks all tables, so that nobody else can write until the transaction ends. */
    async lockTables(): Promise<void> {
      for await (const _ of ofEachHome(lockTables));
      await directory.query(lockNodes);
    },
    runningNodes: async () => (await directory.query<{ id: string }>(listNodes)).map(({ id }) => id),
    /** Deletes what a gateway writes when it starts on an empty database. */
    async deleteStartRecords(): Promise<void> {
      await directory.query(deleteFileRecords);
    },
    async filledTables(): Promise<string[]> {
      const filled = new Set<string>();
      for await (const [rows] of ofEachHome<{ name: string }>(listFilled))
        for (const { name } of rows) filled.add(name);
      return EXPORTED_TABLES.filter((table) => filled.has(table));
    },
    readColumns: () => readColumns(directory),
    /** Sets the columns of the rows of a table that follow. */
    useColumns(table: ExportedTable, columns: readonly string[]): void {
      inserts.set(table, insertInto(table, columns));
    },
    async isDemo(): Promise<boolean | null> {
      const [row] = await directory.query<{ is_demo: boolean | null }>(selectMark);
      return row!.is_demo;
    },
    async setIdentity(id: string, isDemo: boolean | null): Promise<void> {
      await directory.query(setIdentity, [id, isDemo]);
    },
    /** Creates the table of a month such as `2026-11`. */
    async prepareMonth(month: string): Promise<void> {
      const table = createMonthTable(monthTableOf(new Date(`${month}-01T00:00:00Z`)));
      for (const partition of partitions) await partition.query(table);
    },
    /** Inserts rows into the directory, the partition `place` or, if the table is the same in all partitions, into every partition. */
    async insert(table: ExportedTable, rows: readonly string[], place: number): Promise<void> {
      const parameters = [`[${rows.join(',')}]`, ...(table === 'accounts' ? [place] : [])];
      const all = HOMES[table] === 'directory' ? [directory] : partitions;
      for (const home of isOfAccount(table) ? [all[place]!] : all) await home.query(inserts.get(table)!, parameters);
    },
    /** Returns the partition of an account; `null` if the account does not exist. */
    async placeOf(accountId: string): Promise<number | null> {
      const [row] = await directory.query<{ place: number }>(selectPlace, [accountId]);
      return row?.place ?? null;
    },
    /** Makes the usage sums be computed again, and adds those of dropped records. Call this after the last row. */
    async recomputeUsage(): Promise<void> {
      for (const partition of partitions)
        for (const statement of [recomputeUsage, ...ADD_DROPPED]) await partition.query(statement);
    },
    /** Sums the entries of accounts. Accounts that do not exist are absent. */
    sums: async (accounts: readonly string[], place: number): Promise<AccountEnd[]> =>
      SUMS.all(await partitions[place]!.query(sumAccounts, [toArray(accounts)])),
    /** Counts the rows of each table. If each partition has its rows, those in the first one count. */
    async countRows(): Promise<Record<ExportedTable, number>> {
      const counts = byTable(() => 0);
      for await (const [rows, number] of ofEachHome<{ name: ExportedTable; n: number }>(countRows))
        for (const { name, n } of rows) if (number === 0 || !IN_EACH_PARTITION.has(name)) counts[name] += n;
      return counts;
    },
    /** Removes redemptions that are newer than the snapshot of their account. Returns their number. */
    async removeLateRedemptions(exportedAt: string): Promise<number> {
      let removed = 0;
      const late = LATE.all(await directory.query(listLate, [exportedAt]));
      for (const [place, those] of Map.groupBy(late, (each) => each.place)) {
        const names = fieldsOf(those, 'accountId', 'codeHash');
        const found = await partitions[place]!.query<{ code_hash: string }>(findUngranted, names);
        await directory.query(removeRedemptions, [toArray(found.map(({ code_hash: codeHash }) => codeHash))]);
        removed += found.length;
      }
      return removed;
    },
  };
}
