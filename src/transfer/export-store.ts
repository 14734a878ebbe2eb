import { partAt } from '../accounting/partitions/routes.ts';
import { hasCitus } from '../db/citus.ts';
import type { Statement } from '../db/database.ts';
import type { DirectoryDatabase, DirectorySnapshots, PartitionSnapshots } from '../db/home-pools.ts';
import { HOMES } from '../db/homes.ts';
import { readPartitions } from '../db/partitions-store.ts';
import {
  ACCOUNTS,
  type AccountRow,
  type ExportedRow,
  OF_DIRECTORY,
  OF_PARTITION,
  STATE,
  WHOLE_TABLES,
} from './export-tables-store.ts';
import { type ExportHead, TransferError } from './format.ts';
import { type AccountRows, type ReleasedAccount, releaseAccount } from './released-account-store.ts';
import { RowsByAccount } from './rows-by-account.ts';
import { type ExportedTable, IN_EACH_PARTITION, readColumns } from './tables.ts';

/** Maximum number of rows in memory. It is divided between partitions, each of which has cursors of its own. */
const ROWS_MAX = 2_000;
const ROWS_MIN = 50;
/** The same for rows without an account, such as entries of the audit log or price lists, which can have some hundred kilobytes. */
const WHOLE_ROWS_MAX = 250;
/** The same for stored responses, each of which can be as large as a response body. */
const RESPONSES_MAX = 8;

const readDatabase: Statement = {
  name: 'export.read-database',
  text: 'select id, is_demo, (select count(*)::int from accounts) as accounts from database_identity',
};

/**
 * Locks the call records, so that no table of them can be dropped. The snapshot must begin afterwards: a table could be dropped between an
 * earlier snapshot and the lock.
 */
const keepRecords: Statement = { name: 'export.keep-records', text: 'lock table only calls in access share mode' };

/** Starts the snapshot of a partition; on Citus, that of its worker. */
const beginState: Statement = { name: 'export.begin-state', text: 'select is_done from usage_backfill' };

export type AccountTable = keyof typeof OF_DIRECTORY | keyof typeof OF_PARTITION;

export interface ExportedAccount {
  readonly id: string;
  readonly row: string;
  readonly released: ReleasedAccount;
  /** Rows of the account, which must be read before the next account is requested. */
  readonly rows: Readonly<Record<AccountTable, RowsByAccount>>;
}

export async function openExport(directory: DirectoryDatabase, rowsMax?: number) {
  const states = await openStates(directory);
  return createReader(states, rowsMax ?? Math.max(ROWS_MIN, Math.floor(ROWS_MAX / states.partitions.length)));
}

type StateReader = DirectorySnapshots | PartitionSnapshots;

interface States {
  readonly directory: DirectorySnapshots;
  readonly vouchers: DirectorySnapshots;
  readonly partitions: readonly PartitionSnapshots[];
  close(): Promise<void>;
}

/**
 * Opens a consistent snapshot of all tables. On Citus, each worker has its own snapshot, and vouchers are read in the last one: every
 * voucher that gave something in the export is then also redeemed there. An import makes redeemed vouchers that gave nothing available
 * again (`docs/decisions/0065-books-of-several-partitions.md`).
 */
async function openStates(database: DirectoryDatabase): Promise<States> {
  const known = await readPartitions(database.pool('admin'));
  const directory = await database.openSnapshots();
  const partitions = known.map(({ schema }) => directory.inSchema(schema));
  try {
    for (const partition of partitions) await partition.query(keepRecords);
    // This query starts the snapshot of the directory.
    if (!(await hasCitus(directory))) return { directory, vouchers: directory, partitions, close: directory.close };
    for (const partition of partitions) await partition.query(beginState);
    const vouchers = await database.openSnapshots();
    const close = async (): Promise<void> => void (await Promise.all([directory.close(), vouchers.close()]));
    return { directory, vouchers, partitions, close };
  } catch (error) {
    await directory.close();
    throw error;
  }
}

function createReader({ directory, vouchers, partitions, close }: States, rowsMax: number) {
  async function* rowsIn<Row>(reader: StateReader, statement: Statement): AsyncGenerator<readonly Row[]> {
    const cursor = reader.cursor<Row>(statement);
    const most = Math.min(WHOLE_ROWS_MAX, rowsMax);
    for (let isMore = true; isMore; ) {
      const rows = await cursor.fetch(most);
      isMore = rows.length === most;
      if (rows.length > 0) yield rows;
    }
  }

  const byAccount = (reader: StateReader, statement: Statement): RowsByAccount =>
    new RowsByAccount(
      reader.cursor<AccountRow>(statement),
      statement === OF_PARTITION.stored_responses ? Math.min(RESPONSES_MAX, rowsMax) : rowsMax,
    );

  function openPartition(partition: PartitionSnapshots) {
    const state = mapValues(STATE, (statement) => byAccount(partition, statement));
    return {
      rows: mapValues(OF_PARTITION, (statement) => byAccount(partition, statement)),
      async release(accountId: string): Promise<ReleasedAccount> {
        const found: Partial<Record<keyof AccountRows, readonly AccountRow[]>> = {};
        for (const table of Object.keys(state) as (keyof AccountRows)[])
          found[table] = await state[table].all(accountId);
        const released = releaseAccount(found as AccountRows);
        if (released === null) throw new TransferError(withoutBalance(accountId));
        return released;
      },
    };
  }

  return {
    async readHead(): Promise<Pick<ExportHead, 'identity' | 'isDemo' | 'accounts' | 'tables'>> {
      const [row] = await directory.query<{ id: string; is_demo: boolean | null; accounts: number }>(readDatabase);
      const { id: identity, is_demo: isDemo, accounts } = row!;
      return { identity, isDemo, accounts, tables: await readColumns(directory) };
    },
    /** Yields the accounts, in the order of their ids. */
    async *accounts(): AsyncGenerator<ExportedAccount> {
      const opened = partitions.map(openPartition);
      const ofDirectory = {
        api_keys: byAccount(directory, OF_DIRECTORY.api_keys),
        voucher_redemptions: byAccount(vouchers, OF_DIRECTORY.voucher_redemptions),
      };
      type Placed = ExportedRow & { readonly id: string; readonly partition: number };
      for await (const found of rowsIn<Placed>(directory, ACCOUNTS)) {
        for (const { id, partition, row } of found) {
          const { release, rows } = partAt(opened, partition);
          yield { id, row, released: await release(id), rows: { ...rows, ...ofDirectory } };
        }
      }
    },
    /** Yields tables without an account. A row that is in several partitions is returned once. */
    async *wholeTables(): AsyncGenerator<{ readonly table: ExportedTable; readonly rows: readonly ExportedRow[] }> {
      type Keyed = ExportedRow & { readonly key?: string };
      for (const table of Object.keys(WHOLE_TABLES) as (keyof typeof WHOLE_TABLES)[]) {
        const seen = new Set<string | undefined>();
        const ofDirectory = table.startsWith('voucher') ? vouchers : directory;
        for (const reader of HOMES[table] === 'partition' ? partitions : [ofDirectory]) {
          for await (const found of rowsIn<Keyed>(reader, WHOLE_TABLES[table])) {
            const rows = found.filter(({ key }) => !seen.has(key));
            yield { table, rows };
            if (IN_EACH_PARTITION.has(table)) for (const { key } of rows) seen.add(key);
          }
        }
      }
    },
    close,
  };
}

const withoutBalance = (accountId: string): string =>
  `The account ${accountId} has no balance in its partition. If it was just created, export again; otherwise see "faregate audit".`;

const mapValues = <Name extends string, Made>(
  statements: Readonly<Record<Name, Statement>>,
  make: (statement: Statement) => Made,
) =>
  Object.fromEntries(Object.entries<Statement>(statements).map(([name, of]) => [name, make(of)])) as Record<Name, Made>;
