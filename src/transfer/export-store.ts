import { partAt } from '../accounting/partitions/routes.ts';
import type { Statement } from '../db/database.ts';
import type { DirectorySnapshots, PartitionSnapshots } from '../db/home-lanes.ts';
import { HOMES } from '../db/homes.ts';
import { type ExportedDatabases, type ExportSnapshots, openExportSnapshots } from './export-snapshots-store.ts';
import {
  ACCOUNTS,
  type AccountTable,
  type ExportedRow,
  OF_DIRECTORY,
  OF_PARTITION,
  type RowOf,
  SHARED_TABLES,
  STATE,
  type StateRow,
  VOUCHER_TABLES,
  WHOLE_TABLES,
} from './export-tables-store.ts';
import type { ExportHead } from './format.ts';
import { type AccountRows, type ReleasedAccount, releaseAccount } from './released-account-store.ts';
import { RowsByAccount } from './rows-by-account.ts';
import { columnsOf, EXPORTED_TABLES, type ExportedTable, listColumns, type TableColumn } from './tables.ts';

/** Rows of a table that are in memory; divided by the number of partitions, of which each has cursors of its own. */
const ROWS_MAX = 2_000;
const ROWS_MIN = 50;
/** Of tables that belong to no account: a row of the change log, or a price list, may be some hundred kilobytes. */
const WHOLE_ROWS_MAX = 250;
/** Of stored responses, each of which may be as large as a body. */
const RESPONSES_MAX = 8;

const selectIdentity: Statement = { name: 'export.select-identity', text: 'select id, is_demo from database_identity' };

const countAccounts: Statement = { name: 'export.count-accounts', text: 'select count(*)::int as n from accounts' };

/** The rows of one account, table by table. Accounts are asked for in the order of their ids. */
type RowsOfAccounts = { readonly [Table in AccountTable]: RowsByAccount<RowOf<Table>> };

export interface ExportedAccount {
  readonly id: string;
  readonly row: string;
  readonly released: ReleasedAccount;
  readonly rows: RowsOfAccounts;
}

export type ExportReader = ReturnType<typeof createReader>;
export type ExportStore = ReturnType<typeof createExportStore>;

/** `rowsMax`: for tests. */
export function createExportStore(databases: ExportedDatabases, rowsMax?: number) {
  const ofEach = rowsMax ?? Math.max(ROWS_MIN, Math.floor(ROWS_MAX / databases.partitions.length));
  return { open: async () => createReader(await openExportSnapshots(databases), ofEach) };
}

function createReader(snapshots: ExportSnapshots, rowsMax: number) {
  const { directory, redemptions, partitions } = snapshots;

  function byAccount<Row extends { readonly account_id: string }>(
    reader: DirectorySnapshots | PartitionSnapshots,
    statement: Statement,
  ): RowsByAccount<Row> {
    const most = statement === OF_PARTITION.stored_responses ? Math.min(RESPONSES_MAX, rowsMax) : rowsMax;
    return new RowsByAccount<Row>(reader.cursor<Row>(statement), most);
  }

  async function* rowsIn<Row>(
    reader: DirectorySnapshots | PartitionSnapshots,
    statement: Statement,
  ): AsyncGenerator<readonly Row[]> {
    const cursor = reader.cursor<Row>(statement);
    const most = Math.min(WHOLE_ROWS_MAX, rowsMax);
    for (let isMore = true; isMore; ) {
      const rows = await cursor.fetch(most);
      isMore = rows.length === most;
      if (rows.length > 0) yield rows;
    }
  }

  function openPartition(partition: PartitionSnapshots) {
    const state = mapTables(STATE, (statement) => byAccount<StateRow>(partition, statement));
    const rows = mapTables(OF_PARTITION, (statement) => byAccount(partition, statement));
    return {
      rows,
      async release(accountId: string): Promise<ReleasedAccount | null> {
        const found: Partial<Record<keyof AccountRows, readonly StateRow[]>> = {};
        for (const [table, of] of Object.entries(state)) found[table as keyof AccountRows] = await of.all(accountId);
        return releaseAccount(found as AccountRows);
      },
    };
  }

  return {
    async readIdentity(): Promise<Pick<ExportHead, 'identity' | 'isDemo'>> {
      const [row] = await directory.query<{ id: string; is_demo: boolean | null }>(selectIdentity);
      return { identity: row!.id, isDemo: row!.is_demo };
    },
    async readColumns(): Promise<Record<ExportedTable, string[]>> {
      const columns = {
        directory: await directory.query<TableColumn>(listColumns),
        partition: await partitions[0]!.query<TableColumn>(listColumns),
      };
      return Object.fromEntries(
        EXPORTED_TABLES.map((table) => [table, columnsOf(table, columns[HOMES[table]])]),
      ) as Record<ExportedTable, string[]>;
    },
    async countAccounts(): Promise<number> {
      const [row] = await directory.query<{ n: number }>(countAccounts);
      return row!.n;
    },
    /** All accounts with a balance, in the order of their ids. The rows of one are read before the next one is asked for. */
    async *accounts(): AsyncGenerator<ExportedAccount> {
      const opened = partitions.map(openPartition);
      const shared = {
        api_keys: byAccount(directory, OF_DIRECTORY.api_keys),
        voucher_redemptions: byAccount(redemptions, OF_DIRECTORY.voucher_redemptions),
      };
      type Placed = ExportedRow & { readonly id: string; readonly partition: number };
      for await (const found of rowsIn<Placed>(directory, ACCOUNTS)) {
        for (const { id, partition, row } of found) {
          const { release, rows } = partAt(opened, partition);
          const released = await release(id);
          // Each account that is whole has a balance: its partition is read in a later state.
          if (released !== null) yield { id, row, released, rows: { ...rows, ...shared } as unknown as RowsOfAccounts };
        }
      }
    },
    rowsOf: (table: keyof typeof WHOLE_TABLES) => rowsIn<ExportedRow>(directory, WHOLE_TABLES[table]),
    rowsOfVouchers: (table: keyof typeof VOUCHER_TABLES) => rowsIn<ExportedRow>(redemptions, VOUCHER_TABLES[table]),
    /** Rows that several partitions may have, once each. */
    async *sharedRows(table: keyof typeof SHARED_TABLES): AsyncGenerator<readonly ExportedRow[]> {
      const seen = new Set<string>();
      for (const partition of partitions) {
        for await (const rows of rowsIn<ExportedRow & { readonly key: string }>(partition, SHARED_TABLES[table])) {
          yield rows.filter(({ key }) => !seen.has(key));
          for (const { key } of rows) seen.add(key);
        }
      }
    },
    close: () => snapshots.close(),
  };
}

const mapTables = <Name extends string, Made>(
  tables: Readonly<Record<Name, Statement>>,
  make: (statement: Statement) => Made,
): Record<Name, Made> =>
  Object.fromEntries(Object.entries<Statement>(tables).map(([name, statement]) => [name, make(statement)])) as Record<
    Name,
    Made
  >;
