import { partAt } from '../accounting/partitions/routes.ts';
import type { Query, Statement } from '../db/database.ts';
import type { DirectorySnapshots, PartitionSnapshots } from '../db/home-lanes.ts';
import { HOMES } from '../db/homes.ts';
import { type BatchRange, type CutAccount, readAccounts, readCut } from './export-cut-store.ts';
import {
  type BatchTables,
  type ExportedKey,
  openDirectoryTables,
  openPartitionTables,
  readRows,
} from './export-slices-store.ts';
import { type ExportedDatabases, type ExportSnapshots, openExportSnapshots } from './export-snapshots-store.ts';
import type { ExportHead } from './format.ts';
import { columnsOf, EXPORTED_TABLES, type ExportedTable, listColumns, type TableColumn } from './tables.ts';

/**
 * The SQL of an export. Accounts are read in batches, and each table of a batch in slices. All reads of a partition see one snapshot
 * (`export-snapshots-store.ts`).
 */

/** How much is read at a time. */
export interface ExportSizes {
  /** Accounts of a batch. */
  readonly accountsMax: number;
  /** Rows of a batch, as far as they are counted before it is read; an account may have more by itself. */
  readonly batchRowsMax: number;
  readonly sliceRowsMax: number;
}

const SIZES: ExportSizes = { accountsMax: 500, batchRowsMax: 20_000, sliceRowsMax: 2_000 };

/** Rows of tables that do not belong to accounts. */
const SLICE_ROWS = 250;

const selectIdentity: Statement = { name: 'export.select-identity', text: 'select id, is_demo from database_identity' };

const countAccounts: Statement = { name: 'export.count-accounts', text: 'select count(*)::int as n from accounts' };

/** SQL: how many rows of a table an account has, as far as that matters. */
const rowsOf = (table: string, account: string): string =>
  `(select count(*) from (select from ${table} t where t.account_id = ${account} limit $3::int) counted)`;

/** The next accounts, `$2` at most, and how many keys each has. Plans: primary keys. */
const listAccounts: Statement = {
  name: 'export.list-accounts',
  text: `select a.id, a.partition_no::int as partition, (1 + ${rowsOf('api_keys', 'a.id')})::int as rows
from accounts a where a.id > $1::text order by a.id limit $2::int`,
};

/**
 * About how many more rows a batch gets by each account behind `$1`, up to `$2`: those of its first read, and its entries. Accounts without a
 * balance are not exported. Plans: primary keys.
 */
const countRows: Statement = {
  name: 'export.count-rows',
  text: `select b.account_id as id, (least(b.last_entry_no, $3::int) + ${[
    'key_limits',
    'rate_limits',
    'subscriptions',
    'reservations',
  ]
    .map((table) => rowsOf(table, 'b.account_id'))
    .join(' + ')})::int as rows
from balances b where b.account_id > $1::text and b.account_id <= $2::text`,
};

/** How many times records were dropped. */
const countDrops: Statement = {
  name: 'export.count-drops',
  text: 'select coalesce(sum(drops), 0)::text as drops from dropped_months',
};

/** How the rows of a table are read that does not belong to accounts: behind a key (`$1` …). */
interface WholeTable {
  readonly statement: Statement;
  /** A key before all of them. */
  readonly first: readonly string[];
}

/** Plans: primary keys. */
function whole(
  table: ExportedTable,
  {
    key = [['id', 'text', '']],
    where = '',
    columns = '',
    row = 'row_to_json(t)',
  }: { key?: readonly (readonly [string, string, string])[]; where?: string; columns?: string; row?: string } = {},
): WholeTable {
  const names = key.map(([name]) => `t.${name}`).join(', ');
  const lastKey = key.map(([, type], i) => `$${i + 1}::${type}`).join(', ');
  const keys = key.map(([name], i) => `t.${name}::text as key_${i}`).join(', ');
  return {
    first: key.map(([, , first]) => first),
    statement: {
      name: `export.slice-${table}`,
      text: `select (${row})::text as row, ${keys}${columns} from ${table} t
where (${names}) > (${lastKey}) ${where} order by ${names} limit ${SLICE_ROWS}`,
    },
  };
}

/** Where it says so, those of accounts up to `$2`. */
const WHOLE_TABLES = {
  /** Which partition it is in is of this database alone. */
  new_accounts: whole('new_accounts', { row: `to_jsonb(t) - 'partition_no'` }),
  account_requests: whole('account_requests', {
    key: [['idempotency_key', 'text', '']],
    where: 'and t.account_id <= $2::text',
  }),
  /** No list has the first id: they are hashes. */
  price_lists: whole('price_lists', { key: [['id', 'uuid', '00000000-0000-0000-0000-000000000000']] }),
  /** Those that records were dropped of. */
  dropped_months: whole('dropped_months', {
    key: [['month', 'date', '-infinity']],
    where: 'and t.dropped_at is not null',
  }),
  route_drains: whole('route_drains', {
    key: [
      ['provider', 'text', ''],
      ['model', 'text', ''],
      ['provider_model', 'text', ''],
    ],
  }),
  admin_tokens: whole('admin_tokens'),
  /** With their identities, and their memberships, of the same moment, each a list in JSON. Plan: user_identities_by_user too. */
  users: whole('users', {
    columns: `,
  (select coalesce(json_agg(m order by m.account_id), '[]')::text from memberships m
   where m.user_id = t.id and m.account_id <= $2::text) as memberships,
  (select coalesce(json_agg(i order by i.id), '[]')::text from user_identities i where i.user_id = t.id) as identities`,
  }),
  changes: whole('changes'),
  /** Those of operators too. */
  webhook_endpoints: whole('webhook_endpoints', {
    where: 'and (t.account_id is null or t.account_id <= $2::text)',
  }),
  vouchers: whole('vouchers', { key: [['code_hash', 'bytea', '']] }),
  voucher_batches: whole('voucher_batches'),
} satisfies Partial<Record<ExportedTable, WholeTable>>;

export type WholeTableName = keyof typeof WHOLE_TABLES;

/** An account as of its cut, and the tables of its batch that have rows of it. */
export interface ExportedAccount {
  readonly account: CutAccount;
  readonly tables: BatchTables;
}

/** Lists in JSON. */
type UserLists = Record<'memberships' | 'identities', string>;

export type ExportStore = ReturnType<typeof createExportStore>;

/** `sizes`: for tests. */
export function createExportStore(databases: ExportedDatabases, sizes: ExportSizes = SIZES) {
  return { open: async () => createReader(await openExportSnapshots(databases), sizes) };
}

type KeyedRow = ExportedKey & { readonly [key: `key_${number}`]: string };

function createReader(snapshots: ExportSnapshots, sizes: ExportSizes) {
  const { directory, redemptions, partitions } = snapshots;
  const ofDirectory = <Row>(statement: Statement, parameters: Query['parameters'] = []): Promise<Row[]> =>
    readRows<Row>(directory, statement, parameters);

  async function* slicesIn<Row extends KeyedRow>(
    reader: DirectorySnapshots | PartitionSnapshots,
    { statement, first }: WholeTable,
    lastAccountId?: string,
  ): AsyncIterable<Row[]> {
    let behind = first;
    for (;;) {
      const parameters = [...behind, ...(lastAccountId === undefined ? [] : [lastAccountId])];
      const rows = await readRows<Row>(reader, statement, parameters);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows;
      if (rows.length < SLICE_ROWS) return;
      behind = first.map((_, i) => last[`key_${i}`]!);
    }
  }

  /** Rows that several partitions may have, once each. */
  async function* slicesOfPartitions(table: WholeTable): AsyncIterable<KeyedRow[]> {
    const seen = new Set<string>();
    for (const partition of partitions) {
      for await (const rows of slicesIn(partition, table)) {
        const unseen = rows.filter(({ key_0: key }) => !seen.has(key));
        for (const { key_0: key } of unseen) seen.add(key);
        if (unseen.length > 0) yield unseen;
      }
    }
  }

  return {
    async readIdentity(): Promise<Pick<ExportHead, 'identity' | 'isDemo'>> {
      const [row] = await ofDirectory<{ id: string; is_demo: boolean | null }>(selectIdentity);
      return { identity: row!.id, isDemo: row!.is_demo };
    },
    async readColumns(): Promise<Record<ExportedTable, string[]>> {
      const columns = {
        directory: await ofDirectory<TableColumn>(listColumns),
        partition: await readRows<TableColumn>(partitions[0]!, listColumns, []),
      };
      return Object.fromEntries(
        EXPORTED_TABLES.map((table) => [table, columnsOf(table, columns[HOMES[table]])]),
      ) as Record<ExportedTable, string[]>;
    },
    async countAccounts(): Promise<number> {
      const [row] = await ofDirectory<{ n: number }>(countAccounts);
      return row!.n;
    },
    /** All accounts, in the order of their ids. */
    async *batches(): AsyncIterable<BatchRange> {
      const { accountsMax, batchRowsMax } = sizes;
      let behind = '';
      for (;;) {
        const accounts = await ofDirectory<ListedAccount>(listAccounts, [behind, accountsMax, batchRowsMax]);
        if (accounts.length === 0) return;
        const last = accounts.at(-1)!.id;
        const further = new Map<string, number>();
        for (const number of new Set(accounts.map(({ partition }) => partition))) {
          const counts = await readRows<RowCount>(partAt(partitions, number), countRows, [behind, last, batchRowsMax]);
          for (const { id, rows } of counts) further.set(id, rows);
        }
        const listed = accounts.map(({ id, rows }) => ({ id, rows: rows + (further.get(id) ?? 0) }));
        yield* toBatches(listed, batchRowsMax);
        behind = last;
      }
    },
    /** The accounts of a batch, in the order of their ids. */
    async readBatch(range: BatchRange): Promise<readonly ExportedAccount[]> {
      const rowsMax = sizes.sliceRowsMax;
      const accountRows = await readAccounts(directory, range);
      const cuts = await Promise.all(
        [...Map.groupBy(accountRows, ({ partition }) => partition)].map(async ([number, rows]) => {
          const reader = partAt(partitions, number);
          const accounts = await readCut(reader, range, rows);
          const isExported = (id: string): boolean => accounts.has(id);
          const tables = openPartitionTables({ reader, range, isExported, rowsMax });
          return [number, { accounts, tables }] as const;
        }),
      );
      const byPartition = new Map(cuts);
      const found = accountRows.flatMap(({ id, partition }) => {
        const { accounts, tables } = byPartition.get(partition)!;
        const account = accounts.get(id);
        return account === undefined ? [] : [{ account, tables }];
      });
      const exported = new Set(found.map(({ account }) => account.id));
      const place = { range, isExported: (id: string) => exported.has(id), rowsMax };
      const shared = openDirectoryTables(
        { ...place, reader: directory },
        { ...place, reader: redemptions, more: [snapshots.redemptionsCut] },
      );
      return found.map(({ account, tables }) => ({ account, tables: { ...shared, ...tables } }));
    },
    /** Rows of a table that does not belong to accounts, by its key. `lastAccountId`: of accounts those up to this one. */
    rowsOf(table: WholeTableName, lastAccountId?: string): AsyncIterable<readonly ExportedKey[]> {
      if (HOMES[table] === 'partition') return slicesOfPartitions(WHOLE_TABLES[table]);
      const isOfVouchers = table === 'vouchers' || table === 'voucher_batches';
      return slicesIn(isOfVouchers ? redemptions : directory, WHOLE_TABLES[table], lastAccountId);
    },
    users: (lastAccountId: string) => slicesIn<KeyedRow & UserLists>(directory, WHOLE_TABLES.users, lastAccountId),
    /** Another one than before: records were dropped in between. */
    async readDrops(): Promise<string> {
      let drops = 0n;
      for (const partition of partitions) {
        const [row] = await readRows<{ drops: string }>(partition, countDrops, []);
        drops += BigInt(row!.drops);
      }
      return String(drops);
    },
    close: () => snapshots.close(),
  };
}

interface RowCount {
  readonly id: string;
  readonly rows: number;
}

interface ListedAccount extends RowCount {
  readonly partition: number;
}

/** As many accounts at a time as have so many rows together; one that has more is alone. */
function* toBatches(listed: readonly RowCount[], rowsMax: number): Generator<BatchRange> {
  let first = listed[0]!.id;
  let last = first;
  let sum = 0;
  for (const { id, rows } of listed) {
    if (sum > 0 && sum + rows > rowsMax) {
      yield { first, last };
      first = id;
      sum = 0;
    }
    last = id;
    sum += rows;
  }
  yield { first, last };
}
