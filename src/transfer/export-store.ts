import type { Database, Query, Statement } from '../db/database.ts';
import type { DirectoryDatabase, HomeSnapshots, PartitionDatabase } from '../db/home-lanes.ts';
import { HOMES, type Home } from '../db/homes.ts';
import { type BatchRange, type CutAccount, readCut } from './export-cut-store.ts';
import {
  type BatchTables,
  type ExportedKey,
  type ExportedRow,
  openBatchTables,
  readRows,
} from './export-slices-store.ts';
import type { ExportHead } from './format.ts';
import { EXPORTED_TABLES, type ExportedTable } from './tables.ts';

/**
 * The SQL of an export. Accounts are read in batches, and each table of a batch in slices; on the embedded engine calls are admitted
 * and end between any two reads. What the accounts of a batch are as of is decided by its first read (`readCut`), which is of one
 * state: the cut. Rows that later transactions wrote are left out, by the transaction that wrote each (`xmin`), so the slices
 * together are that state. On a server all reads of both homes see one snapshot anyway.
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
  text: `select a.id, (1 + ${rowsOf('api_keys', 'a.id')})::int as rows
from accounts a where a.id > $1::text order by a.id limit $2::int`,
};

/**
 * About how many more rows a batch gets by each: those of its first read, and its entries. Accounts without a balance are not
 * exported. Plans: primary keys.
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
from balances b where b.account_id > $1::text order by b.account_id limit $2::int`,
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

/** On a server: keeps tables of records, which a snapshot that was taken before does not keep. The snapshot begins behind it. */
const keepRecords: Statement = { name: 'export.keep-records', text: 'lock table only calls in access share mode' };

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

/** Those of accounts up to one. Plan: primary key. */
const sliceNoticeStates: Statement = {
  name: 'export.slice-notice_states',
  text: `select row_to_json(t)::text as row, t.account_id as key_0, t.subject as key_1 from notice_states t
where t.account_id <= $1::text and (t.account_id, t.subject) > ($2::text, $3::text)
order by t.account_id, t.subject limit ${SLICE_ROWS}`,
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

/** Plan: primary key. */
const sliceNewAccounts: Statement = {
  name: 'export.slice-new_accounts',
  text: `select row_to_json(t)::text as row, t.id as key_0 from new_accounts t where t.id > $1::text order by t.id limit ${SLICE_ROWS}`,
};

/** A batch of accounts as of its cut. */
interface Batch {
  /** In the order of their ids. */
  readonly accounts: Iterable<CutAccount>;
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
  readBatch(range: BatchRange): Promise<Batch>;
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
  noticeStates(lastAccountId: string): AsyncIterable<readonly ExportedRow[]>;
  close(): Promise<void>;
}

/** The databases of both homes. */
export interface ExportedDatabases {
  readonly directory: Pick<DirectoryDatabase, 'openSnapshots'>;
  readonly partition: Pick<PartitionDatabase, 'engine' | 'openSnapshots'>;
}

/** `sizes`: for tests. */
export function createExportStore(
  { directory, partition }: ExportedDatabases,
  sizes: ExportSizes = SIZES[partition.engine],
): ExportStore {
  return {
    async open() {
      const ofPartition = await partition.openSnapshots();
      try {
        if (partition.engine === 'postgresql') await ofPartition.read([{ statement: keepRecords, parameters: [] }]);
        const ofDirectory = await directory.openSnapshots(await ofPartition.nameState());
        return createReader({ directory: ofDirectory, partition: ofPartition }, sizes);
      } catch (error) {
        await ofPartition.close();
        throw error;
      }
    },
  };
}

type KeyedRow = ExportedRow & { readonly [key: `key_${number}`]: string };

function createReader(snapshots: HomeSnapshots, sizes: ExportSizes): ExportReader {
  const ofHome =
    (home: Home) =>
    async <Row>(statement: Statement, parameters: Query['parameters'] = []): Promise<Row[]> =>
      (await snapshots[home].read([{ statement, parameters }]))[0] as Row[];
  const [ofDirectory, ofPartition] = [ofHome('directory'), ofHome('partition')];

  /** `first`: a key before all of them. */
  async function* slices<Row extends ExportedRow = ExportedRow>(
    table: ExportedTable,
    statement: Statement,
    first: readonly string[],
    parameters: readonly string[] = [],
  ): AsyncIterable<Row[]> {
    let behind = first;
    for (;;) {
      const rows = await readRows<Row & KeyedRow>(snapshots, table, statement, [...parameters, ...behind]);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows;
      if (rows.length < SLICE_ROWS) return;
      behind = first.map((_, i) => last[`key_${i}`]!);
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
        partition: await ofPartition<Column>(listColumns),
      };
      return Object.fromEntries(
        EXPORTED_TABLES.map((table) => [
          table,
          columns[HOMES[table]].filter((row) => row.table_name === table).map((row) => row.column_name),
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
        const parameters = [behind, accountsMax, batchRowsMax];
        const accounts = await ofDirectory<ListedAccount>(listAccounts, parameters);
        if (accounts.length === 0) return;
        const counts = await ofPartition<ListedAccount>(countRows, parameters);
        const further = new Map(counts.map(({ id, rows }) => [id, rows]));
        const listed = accounts.map(({ id, rows }) => ({ id, rows: rows + (further.get(id) ?? 0) }));
        yield* toBatches(listed, batchRowsMax);
        behind = listed.at(-1)!.id;
      }
    },
    async readBatch(range) {
      const cut = await readCut(snapshots, range);
      return { accounts: cut.accounts.values(), tables: openBatchTables(snapshots, range, cut, sizes.sliceRowsMax) };
    },
    newAccounts: () => slices<ExportedKey>('new_accounts', sliceNewAccounts, ['']),
    accountRequests: (lastAccountId) => slices('account_requests', sliceAccountRequests, [''], [lastAccountId]),
    priceLists: () => slices('price_lists', slicePriceLists, [FIRST_UUID]),
    droppedMonths: () => slices('dropped_months', sliceDroppedMonths, ['-infinity']),
    async readDrops() {
      const [row] = await ofPartition<{ drops: string }>(countDrops);
      return row!.drops;
    },
    routeDrains: () => slices('route_drains', sliceRouteDrains, ['', '', '']),
    vouchers: () => slices('vouchers', sliceVouchers, ['']),
    voucherBatches: () => slices('voucher_batches', sliceVoucherBatches, ['']),
    adminTokens: () => slices('admin_tokens', sliceAdminTokens, ['']),
    users: (lastAccountId) => slices('users', sliceUsers, [''], [lastAccountId]),
    changes: () => slices('changes', sliceChanges, ['']),
    webhookEndpoints: (lastAccountId) => slices('webhook_endpoints', sliceWebhookEndpoints, [''], [lastAccountId]),
    noticeStates: (lastAccountId) => slices('notice_states', sliceNoticeStates, ['', ''], [lastAccountId]),
    async close() {
      await Promise.all([snapshots.directory.close(), snapshots.partition.close()]);
    },
  };
}

interface ListedAccount {
  readonly id: string;
  readonly rows: number;
}

/** As many accounts at a time as have so many rows together; one that has more is alone. */
function* toBatches(listed: readonly ListedAccount[], rowsMax: number): Generator<BatchRange> {
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
