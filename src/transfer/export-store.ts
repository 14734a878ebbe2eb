import { partAt } from '../accounting/partitions/routes.ts';
import type { Database, Query, Statement } from '../db/database.ts';
import type { DirectorySnapshots, PartitionSnapshots } from '../db/home-lanes.ts';
import { HOMES } from '../db/homes.ts';
import { type BatchRange, type CutAccount, readAccounts, readCut } from './export-cut-store.ts';
import {
  type BatchTables,
  type ExportedKey,
  type ExportedRow,
  openDirectoryTables,
  openPartitionTables,
  readRows,
} from './export-slices-store.ts';
import { type ExportedDatabases, type ExportSnapshots, openExportSnapshots } from './export-snapshots-store.ts';
import type { ExportHead } from './format.ts';
import { EXPORTED_TABLES, type ExportedTable, PLACE_COLUMN } from './tables.ts';

/**
 * The SQL of an export. Accounts are read in batches, and each table of a batch in slices; on the embedded engine calls are admitted
 * and end between any two reads. What the accounts of a batch are as of is decided by its first read in their partition (`readCut`), which is
 * of one state: the cut. Rows that later transactions wrote are left out, by the transaction that wrote each (`xmin`), so the slices
 * together are that state. On a server all reads of a partition see one snapshot anyway (`export-snapshots-store.ts`).
 */

/** How much is read at a time. */
export interface ExportSizes {
  /** Accounts of a batch. */
  readonly accountsMax: number;
  /** Rows of a batch, as far as they are counted before it is read; an account may have more by itself. */
  readonly batchRowsMax: number;
  readonly sliceRowsMax: number;
}

/**
 * A slice takes the embedded engine some milliseconds, and it does nothing else meanwhile; so does the first read of a batch. The
 * keys of a batch are in one slice there, which is read next: they are as good as of the cut.
 */
const SIZES: Readonly<Record<Database['engine'], ExportSizes>> = {
  embedded: { accountsMax: 50, batchRowsMax: 250, sliceRowsMax: 250 },
  postgresql: { accountsMax: 500, batchRowsMax: 20_000, sliceRowsMax: 2_000 },
};

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

/** The columns of every table. */
const listColumns: Statement = {
  name: 'export.list-columns',
  text: `select c.relname as table_name, a.attname as column_name
from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
order by c.relname, a.attnum`,
};

/** Plan: primary key. */
const slicePriceLists: Statement = {
  name: 'export.slice-price_lists',
  text: `select row_to_json(t)::text as row, t.id::text as key_0 from price_lists t
where t.id > $1::uuid order by t.id limit ${SLICE_ROWS}`,
};

/** Those that records were dropped of. Plan: primary key. */
const sliceDroppedMonths: Statement = {
  name: 'export.slice-dropped_months',
  text: `select row_to_json(t)::text as row, t.month::text as key_0 from dropped_months t
where t.month > $1::date and t.dropped_at is not null order by t.month limit ${SLICE_ROWS}`,
};

/** How many times records were dropped. */
const countDrops: Statement = {
  name: 'export.count-drops',
  text: 'select coalesce(sum(drops), 0)::text as drops from dropped_months',
};

/** Plan: primary key. */
const sliceRouteDrains: Statement = {
  name: 'export.slice-route_drains',
  text: `select row_to_json(t)::text as row, t.provider as key_0, t.model as key_1, t.provider_model as key_2 from route_drains t
where (t.provider, t.model, t.provider_model) > ($1::text, $2::text, $3::text)
order by t.provider, t.model, t.provider_model limit ${SLICE_ROWS}`,
};

/** Plan: primary key. */
const sliceAdminTokens: Statement = {
  name: 'export.slice-admin_tokens',
  text: `select row_to_json(t)::text as row, t.id as key_0 from admin_tokens t where t.id > $1::text order by t.id limit ${SLICE_ROWS}`,
};

/** With their identities, and their memberships in the accounts up to one, of the same moment. Plans: primary keys, user_identities_by_user. */
const sliceUsers: Statement = {
  name: 'export.slice-users',
  text: `select row_to_json(t)::text as row, t.id as key_0,
  (select coalesce(json_agg(m order by m.account_id), '[]')::text from memberships m
   where m.user_id = t.id and m.account_id <= $1::text) as memberships,
  (select coalesce(json_agg(i order by i.id), '[]')::text from user_identities i where i.user_id = t.id) as identities
from users t where t.id > $2::text order by t.id limit ${SLICE_ROWS}`,
};

/** Plan: primary key. */
const sliceChanges: Statement = {
  name: 'export.slice-changes',
  text: `select row_to_json(t)::text as row, t.id as key_0 from changes t where t.id > $1::text order by t.id limit ${SLICE_ROWS}`,
};

/** Those of operators, and of accounts up to one. Plan: primary key. */
const sliceWebhookEndpoints: Statement = {
  name: 'export.slice-webhook_endpoints',
  text: `select row_to_json(t)::text as row, t.id as key_0 from webhook_endpoints t
where (t.account_id is null or t.account_id <= $1::text) and t.id > $2::text order by t.id limit ${SLICE_ROWS}`,
};

/** Plan: primary key. */
const sliceVouchers: Statement = {
  name: 'export.slice-vouchers',
  text: `select row_to_json(t)::text as row, t.code_hash::text as key_0 from vouchers t
where t.code_hash > $1::bytea order by t.code_hash limit ${SLICE_ROWS}`,
};

/** Plan: primary key. */
const sliceVoucherBatches: Statement = {
  name: 'export.slice-voucher_batches',
  text: `select row_to_json(t)::text as row, t.id as key_0 from voucher_batches t where t.id > $1::text order by t.id limit ${SLICE_ROWS}`,
};

/** Those of accounts up to one. Plan: primary key. */
const sliceAccountRequests: Statement = {
  name: 'export.slice-account_requests',
  text: `select row_to_json(t)::text as row, t.idempotency_key as key_0 from account_requests t
where t.account_id <= $1::text and t.idempotency_key > $2::text order by t.idempotency_key limit ${SLICE_ROWS}`,
};

/** Which partition it is in is of this database alone. Plan: primary key. */
const sliceNewAccounts: Statement = {
  name: 'export.slice-new_accounts',
  text: `select (to_jsonb(t) - 'partition_no')::text as row, t.id as key_0 from new_accounts t where t.id > $1::text order by t.id limit ${SLICE_ROWS}`,
};

/** An account as of its cut, and the tables of its batch that have rows of it. */
export interface ExportedAccount {
  readonly account: CutAccount;
  readonly tables: BatchTables;
}

export interface ExportStore {
  open(): Promise<ExportReader>;
}

interface ExportReader {
  readIdentity(): Promise<Pick<ExportHead, 'identity' | 'isDemo'>>;
  readColumns(): Promise<Record<ExportedTable, string[]>>;
  countAccounts(): Promise<number>;
  /** All accounts, in the order of their ids. */
  batches(): AsyncIterable<BatchRange>;
  /** The accounts of a batch, in the order of their ids. */
  readBatch(range: BatchRange): Promise<readonly ExportedAccount[]>;
  /** Accounts that are under way, in the order of their ids. */
  newAccounts(): AsyncIterable<readonly ExportedKey[]>;
  /** Those of the accounts up to this one. */
  accountRequests(lastAccountId: string): AsyncIterable<readonly ExportedRow[]>;
  priceLists(): AsyncIterable<readonly ExportedRow[]>;
  droppedMonths(): AsyncIterable<readonly ExportedRow[]>;
  /** Another one than before: records were dropped in between. */
  readDrops(): Promise<string>;
  routeDrains(): AsyncIterable<readonly ExportedRow[]>;
  vouchers(): AsyncIterable<readonly ExportedRow[]>;
  voucherBatches(): AsyncIterable<readonly ExportedRow[]>;
  adminTokens(): AsyncIterable<readonly ExportedRow[]>;
  /** With their identities, and their memberships in the accounts up to this one, each a list in JSON. */
  users(lastAccountId: string): AsyncIterable<readonly (ExportedRow & Record<'memberships' | 'identities', string>)[]>;
  changes(): AsyncIterable<readonly ExportedRow[]>;
  webhookEndpoints(lastAccountId: string): AsyncIterable<readonly ExportedRow[]>;
  close(): Promise<void>;
}

/** `sizes`: for tests. */
export function createExportStore(
  databases: ExportedDatabases,
  sizes: ExportSizes = SIZES[databases.directory.engine],
): ExportStore {
  return { open: async () => createReader(await openExportSnapshots(databases), sizes) };
}

type KeyedRow = ExportedRow & { readonly [key: `key_${number}`]: string };

function createReader(snapshots: ExportSnapshots, sizes: ExportSizes): ExportReader {
  const { directory, redemptions, partitions, isMoving } = snapshots;
  const ofDirectory = <Row>(statement: Statement, parameters: Query['parameters'] = []): Promise<Row[]> =>
    readRows<Row>(directory, statement, parameters);

  /** `first`: a key before all of them. */
  async function* slicesIn<Row extends ExportedRow>(
    reader: DirectorySnapshots | PartitionSnapshots,
    statement: Statement,
    first: readonly string[],
    parameters: readonly string[] = [],
  ): AsyncIterable<(Row & KeyedRow)[]> {
    let behind = first;
    for (;;) {
      const rows = await readRows<Row & KeyedRow>(reader, statement, [...parameters, ...behind]);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows;
      if (rows.length < SLICE_ROWS) return;
      behind = first.map((_, i) => last[`key_${i}`]!);
    }
  }
  const slices = <Row extends ExportedRow = ExportedRow>(
    statement: Statement,
    first: readonly string[],
    parameters: readonly string[] = [],
  ): AsyncIterable<Row[]> => slicesIn<Row>(directory, statement, first, parameters);

  /** Rows that several partitions may have, once each. */
  async function* slicesOfPartitions(statement: Statement, first: string): AsyncIterable<ExportedRow[]> {
    const seen = new Set<string>();
    for (const partition of partitions) {
      for await (const rows of slicesIn(partition, statement, [first])) {
        const unseen = rows.filter(({ key_0: key }) => !seen.has(key!));
        for (const { key_0: key } of unseen) seen.add(key!);
        if (unseen.length > 0) yield unseen;
      }
    }
  }

  return {
    async readIdentity() {
      const [row] = await ofDirectory<{ id: string; is_demo: boolean | null }>(selectIdentity);
      return { identity: row!.id, isDemo: row!.is_demo };
    },
    async readColumns() {
      type Column = { table_name: string; column_name: string };
      const columns = {
        directory: await ofDirectory<Column>(listColumns),
        partition: await readRows<Column>(partitions[0]!, listColumns, []),
      };
      return Object.fromEntries(
        EXPORTED_TABLES.map((table) => [
          table,
          columns[HOMES[table]]
            .filter((row) => row.table_name === table && row.column_name !== PLACE_COLUMN)
            .map((row) => row.column_name),
        ]),
      ) as Record<ExportedTable, string[]>;
    },
    async countAccounts() {
      const [row] = await ofDirectory<{ n: number }>(countAccounts);
      return row!.n;
    },
    async *batches() {
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
    async readBatch(range) {
      const rowsMax = sizes.sliceRowsMax;
      const accounts = await readAccounts(directory, range, isMoving);
      const cuts = await Promise.all(
        [...Map.groupBy(accounts.rows, ({ partition }) => partition)].map(async ([number, rows]) => {
          const reader = partAt(partitions, number);
          const cut = await readCut(reader, range, rows, isMoving);
          const isExported = (id: string): boolean => cut.accounts.has(id);
          const tables = openPartitionTables({ reader, range, cut: cut.transaction, isExported, rowsMax });
          return [number, { cut, tables }] as const;
        }),
      );
      const byPartition = new Map(cuts);
      const found = accounts.rows.flatMap(({ id, partition }) => {
        const { cut, tables } = byPartition.get(partition)!;
        const account = cut.accounts.get(id);
        return account === undefined ? [] : [{ account, tables }];
      });
      const exported = new Set(found.map(({ account }) => account.id));
      const place = { range, isExported: (id: string) => exported.has(id), rowsMax };
      const shared = openDirectoryTables(
        { ...place, reader: directory, cut: accounts.transaction },
        { ...place, reader: redemptions, cut: accounts.transaction ?? snapshots.redemptionsCut },
      );
      return found.map(({ account, tables }) => ({ account, tables: { ...shared, ...tables } }));
    },
    newAccounts: () => slices<ExportedKey>(sliceNewAccounts, ['']),
    accountRequests: (lastAccountId) => slices(sliceAccountRequests, [''], [lastAccountId]),
    priceLists: () => slicesOfPartitions(slicePriceLists, FIRST_UUID),
    droppedMonths: () => slicesOfPartitions(sliceDroppedMonths, '-infinity'),
    async readDrops() {
      let drops = 0n;
      for (const partition of partitions) {
        const [row] = await readRows<{ drops: string }>(partition, countDrops, []);
        drops += BigInt(row!.drops);
      }
      return String(drops);
    },
    routeDrains: () => slices(sliceRouteDrains, ['', '', '']),
    vouchers: () => slicesIn(redemptions, sliceVouchers, ['']),
    voucherBatches: () => slicesIn(redemptions, sliceVoucherBatches, ['']),
    adminTokens: () => slices(sliceAdminTokens, ['']),
    users: (lastAccountId) => slices(sliceUsers, [''], [lastAccountId]),
    changes: () => slices(sliceChanges, ['']),
    webhookEndpoints: (lastAccountId) => slices(sliceWebhookEndpoints, [''], [lastAccountId]),
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

/** No list has it: ids are hashes. */
const FIRST_UUID = '00000000-0000-0000-0000-000000000000';
