import type { SqlValue } from '../../db/columns.ts';
import type { Database, Query, SnapshotReader, Statement } from '../../db/database.ts';
import type { StoredRow, TableColumns } from '../../db/table.ts';
import { type AccountState, rateName } from '../reservations/account-state.ts';
import { addKeys, addRates, addSubscriptions, type MoneyRow, toAccounts } from '../reservations/account-store.ts';
import { freeReservation, NO_USE } from '../reservations/release.ts';
import type { OpenReservation } from '../reservations/reservation.ts';
import { BALANCES, KEY_LIMITS, RATE_LIMITS, RESERVATIONS, SUBSCRIPTIONS } from '../reservations/tables.ts';
import { EXPORTED_TABLES, type ExportedTable } from './tables.ts';

/**
 * The SQL of an export. An account is read in slices, and on the embedded engine calls are admitted and end between two of
 * them. What an account is as of is decided by its first read (`readAccount`): the cut. Rows that later transactions wrote
 * are left out, by the transaction that wrote each (`xmin`), so the slices together are one state. On a server all reads see
 * one snapshot anyway.
 */

/** Rows of a slice: some milliseconds on the embedded engine, which does nothing else meanwhile. */
const SLICE_ROWS = 250;
/** Bodies of stored responses in a slice; a single one may be larger. */
const SLICE_BODY_BYTES = 256 * 1024;

/** Rows before the cut `$2`. Those that are 2³¹ transactions old or older seem to be in the future. */
const isBeforeCut = (row: string): string => `(age(${row}.xmin) > age($2::text::xid) or age(${row}.xmin) < 0)`;

const selectIdentity: Statement = { name: 'export.select-identity', text: 'select id from database_identity' };

const countAccounts: Statement = { name: 'export.count-accounts', text: 'select count(*)::int as n from accounts' };

/** Plan: primary key. */
const listAccounts: Statement = {
  name: 'export.list-accounts',
  text: `select id from accounts where id > $1::text order by id limit ${SLICE_ROWS}`,
};

/** The columns of every table. */
const listColumns: Statement = {
  name: 'export.list-columns',
  text: `select c.relname as table_name, a.attname as column_name
from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
order by c.relname, a.attnum`,
};

/** The transactions from this one on are behind the cut. */
const readCut: Statement = {
  name: 'export.read-cut',
  text: `select (pg_snapshot_xmax(pg_current_snapshot())::text::numeric % 4294967296)::text as cut`,
};

const selectAccount: Statement = {
  name: 'export.select-account',
  text: 'select to_jsonb(a)::text as row from accounts a where a.id = $1',
};

/** Columns that calls in flight change come as they are after their release; the rest is the database's own JSON. */
function withCounts(
  name: string,
  table: string,
  columns: { of(alias: string): string },
  counted: readonly string[],
): Statement {
  const names = counted.map((column) => `'${column}'`).join(', ');
  return {
    name,
    text: `select ${columns.of('t')}, (to_jsonb(t) - array[${names}])::text as row from ${table} t where t.account_id = $1`,
  };
}

/** Plan: primary key, as the next ones. */
const selectBalance = withCounts('export.select-balance', 'balances', BALANCES.columns, BALANCES.written.names);
const selectKeyLimits = withCounts(
  'export.select-key-limits',
  'key_limits',
  KEY_LIMITS.columns,
  KEY_LIMITS.written.names,
);
const selectRateLimits = withCounts(
  'export.select-rate-limits',
  'rate_limits',
  RATE_LIMITS.columns,
  RATE_LIMITS.written.names,
);
const selectSubscriptions = withCounts(
  'export.select-subscriptions',
  'subscriptions',
  SUBSCRIPTIONS.columns,
  SUBSCRIPTIONS.written.names,
);

const selectReservations: Statement = {
  name: 'export.select-reservations',
  text: `select ${RESERVATIONS.of('r')},
  r.subscription_id is not null and exists (
    select from plan_slots p where p.account_id = r.account_id and p.call_id = r.call_id
  ) as has_slot
from reservations r where r.account_id = $1`,
};

/** How the rows of a table are read: those of an account (`$1`), before the cut (`$2`), behind a key (`$3` …). */
interface Sliced {
  readonly statement: Statement;
  readonly first: readonly string[];
  /** Whether a slice may have fewer rows than `SLICE_ROWS` although more are left. */
  readonly isBoundedByBytes?: boolean;
}

/** Plans: primary keys. */
function sliced(
  table: ExportedTable,
  {
    key,
    where,
    columns = '',
  }: { key: readonly (readonly [string, string, string])[]; where: string; columns?: string },
): Sliced {
  const names = key.map(([name]) => `t.${name}`).join(', ');
  const behind = key.map(([, type], i) => `$${i + 3}::${type}`).join(', ');
  const keys = key.map(([name], i) => `t.${name}::text as key_${i}`).join(', ');
  return {
    first: key.map(([, , first]) => first),
    statement: {
      name: `export.slice-${table}`,
      text: `select row_to_json(t)::text as row, ${keys}${columns} from ${table} t
where t.account_id = $1::text and ${where} and (${names}) > (${behind})
order by ${names} limit ${SLICE_ROWS}`,
    },
  };
}

const TEXT_KEY = (name: string) => [name, 'text', ''] as const;

/**
 * A key that was revoked behind the cut is exported as revoked. One that was made there is left out: its limits are not those
 * of the cut, and without them it could spend what it must not.
 */
const apiKeys = sliced('api_keys', {
  key: [TEXT_KEY('id')],
  where: `(t.revoked_at is not null or ${isBeforeCut('t')})`,
});
const ledgerEntries = sliced('ledger_entries', {
  key: [['entry_no', 'bigint', '0']],
  where: isBeforeCut('t'),
  columns: ', t.amount_nano',
});
/** A record that was unresolved, and whose call ended behind the cut, is left out: the source has its charge. */
const calls = sliced('calls', {
  key: [TEXT_KEY('id'), ['started_at', 'timestamptz', '-infinity']],
  where: isBeforeCut('t'),
  columns: ', t.charge_nano',
});
const planSlots = sliced('plan_slots', {
  key: [TEXT_KEY('call_id')],
  where: isBeforeCut('t'),
  columns: ', t.subscription_id, t.call_id',
});
const subscriptionRequests = sliced('subscription_requests', {
  key: [TEXT_KEY('idempotency_key')],
  where: isBeforeCut('t'),
});
/** Not cut: a key that was read again has a newer row, and more of them do no harm. */
const continuationKeys = sliced('continuation_keys', { key: [TEXT_KEY('key')], where: '$2::text is not null' });

/** Responses of calls that have ended; claims of calls in flight are not exported. Plan: primary key. */
const sliceStoredResponses: Sliced = {
  first: ['', ''],
  isBoundedByBytes: true,
  statement: {
    name: 'export.slice-stored_responses',
    text: `select row_to_json(t)::text as row, t.key_id as key_0, t.idempotency_key as key_1
from (
  select key_id, idempotency_key, sum(coalesce(octet_length(body), 0)) over (order by key_id, idempotency_key) as bytes,
    row_number() over (order by key_id, idempotency_key) as place
  from (
    select * from stored_responses t
    where t.account_id = $1::text and t.is_valid and ${isBeforeCut('t')} and (t.key_id, t.idempotency_key) > ($3::text, $4::text)
    order by t.key_id, t.idempotency_key limit ${SLICE_ROWS}
  ) next
) found
join stored_responses t on t.account_id = $1::text and t.key_id = found.key_id and t.idempotency_key = found.idempotency_key
where found.place = 1 or found.bytes <= ${SLICE_BODY_BYTES}
order by t.key_id, t.idempotency_key`,
  },
};

/** Plan: primary key. */
const slicePriceLists: Statement = {
  name: 'export.slice-price_lists',
  text: `select row_to_json(t)::text as row, t.id::text as key_0 from price_lists t
where t.id > $1::uuid order by t.id limit ${SLICE_ROWS}`,
};

/** Plan: primary key. */
const sliceRouteDrains: Sliced = {
  first: ['', '', ''],
  statement: {
    name: 'export.slice-route_drains',
    text: `select row_to_json(t)::text as row, t.provider as key_0, t.model as key_1, t.provider_model as key_2 from route_drains t
where (t.provider, t.model, t.provider_model) > ($1::text, $2::text, $3::text)
order by t.provider, t.model, t.provider_model limit ${SLICE_ROWS}`,
  },
};

/** Plan: primary key. */
const sliceAdminTokens: Sliced = {
  first: [''],
  statement: {
    name: 'export.slice-admin_tokens',
    text: `select row_to_json(t)::text as row, t.id as key_0 from admin_tokens t where t.id > $1::text order by t.id limit ${SLICE_ROWS}`,
  },
};

/** Those of accounts up to one. Plan: primary key. */
const sliceAccountRequests: Statement = {
  name: 'export.slice-account_requests',
  text: `select row_to_json(t)::text as row, t.idempotency_key as key_0 from account_requests t
where t.account_id <= $1::text and t.idempotency_key > $2::text order by t.idempotency_key limit ${SLICE_ROWS}`,
};

/** A row as the database's JSON. */
export interface ExportedRow {
  readonly row: string;
}

export interface ExportedEntry extends ExportedRow {
  readonly amount_nano: bigint;
}

export interface ExportedCall extends ExportedRow {
  readonly charge_nano: bigint | null;
}

export interface ExportedSlot extends ExportedRow {
  readonly subscription_id: string;
  readonly call_id: string;
}

/** An account as it was at the cut, with its calls in flight released. */
export interface CutAccount {
  readonly cut: string;
  readonly balanceNano: bigint;
  readonly accountRow: string;
  readonly balanceRow: string;
  readonly keyLimitRows: readonly string[];
  readonly rateLimitRows: readonly string[];
  /** Calls in flight, whose slots are not exported. */
  readonly releasedSlots: ReadonlySet<string>;
  /** `slotsOf`: how many slots of each subscription are exported. */
  subscriptionRows(slotsOf: ReadonlyMap<string, number>): readonly string[];
}

/** The rows of an account, slice by slice. */
export interface AccountSlices {
  readonly apiKeys: AsyncIterable<readonly ExportedRow[]>;
  readonly ledgerEntries: AsyncIterable<readonly ExportedEntry[]>;
  readonly calls: AsyncIterable<readonly ExportedCall[]>;
  readonly planSlots: AsyncIterable<readonly ExportedSlot[]>;
  readonly subscriptionRequests: AsyncIterable<readonly ExportedRow[]>;
  readonly continuationKeys: AsyncIterable<readonly ExportedRow[]>;
  readonly storedResponses: AsyncIterable<readonly ExportedRow[]>;
}

export interface ExportStore {
  open(): Promise<ExportReader>;
}

export interface ExportReader {
  readIdentity(): Promise<string>;
  readColumns(): Promise<Record<ExportedTable, string[]>>;
  countAccounts(): Promise<number>;
  accountIds(): AsyncIterable<string>;
  /** `null` where the account is not there. */
  readAccount(id: string): Promise<CutAccount | null>;
  slicesOf(id: string, cut: string): AccountSlices;
  /** Those of the accounts up to this one. */
  accountRequests(lastAccountId: string): AsyncIterable<readonly ExportedRow[]>;
  priceLists(): AsyncIterable<readonly ExportedRow[]>;
  routeDrains(): AsyncIterable<readonly ExportedRow[]>;
  adminTokens(): AsyncIterable<readonly ExportedRow[]>;
  close(): Promise<void>;
}

export function createExportStore(database: Database): ExportStore {
  return { open: async () => createReader(await database.openSnapshots()) };
}

type KeyedRow = ExportedRow & { readonly [key: `key_${number}`]: string };

function createReader(reader: SnapshotReader): ExportReader {
  const query = async <Row>(statement: Statement, parameters: Query['parameters']): Promise<Row[]> =>
    (await reader.read([{ statement, parameters }]))[0] as Row[];

  async function* slices<Row extends ExportedRow>(
    { statement, first, isBoundedByBytes = false }: Sliced,
    parameters: readonly string[],
  ): AsyncIterable<Row[]> {
    let behind: readonly string[] = first;
    for (;;) {
      const rows = await query<Row & KeyedRow>(statement, [...parameters, ...behind]);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows;
      if (rows.length < SLICE_ROWS && !isBoundedByBytes) return;
      behind = first.map((_, i) => last[`key_${i}`]!);
    }
  }

  return {
    async readIdentity() {
      const [row] = await query<{ id: string }>(selectIdentity, []);
      return row!.id;
    },
    async readColumns() {
      const rows = await query<{ table_name: string; column_name: string }>(listColumns, []);
      return Object.fromEntries(
        EXPORTED_TABLES.map((table) => [
          table,
          rows.filter((row) => row.table_name === table).map((row) => row.column_name),
        ]),
      ) as Record<ExportedTable, string[]>;
    },
    async countAccounts() {
      const [row] = await query<{ n: number }>(countAccounts, []);
      return row!.n;
    },
    async *accountIds() {
      let last = '';
      for (;;) {
        const rows = await query<{ id: string }>(listAccounts, [last]);
        if (rows.length === 0) return;
        for (const { id } of rows) yield id;
        last = rows.at(-1)!.id;
      }
    },
    async readAccount(id) {
      const ofAccount = (statement: Statement): Query => ({ statement, parameters: [id] });
      const [cut, account, money, keys, rates, subscriptions, reservations] = await reader.read([
        { statement: readCut, parameters: [] },
        ...[
          selectAccount,
          selectBalance,
          selectKeyLimits,
          selectRateLimits,
          selectSubscriptions,
          selectReservations,
        ].map(ofAccount),
      ]);
      const [accountRow] = account as ExportedRow[];
      const [balanceRow] = money as (MoneyRow & ExportedRow)[];
      if (accountRow === undefined || balanceRow === undefined) return null;
      const keyRows = keys as (StoredRow & ExportedRow)[];
      const subscriptionRows = subscriptions as (StoredRow & ExportedRow)[];
      const accounts = toAccounts(() => [balanceRow], []);
      addKeys(accounts, keyRows);
      const rateRows = rates as (StoredRow & ExportedRow)[];
      addRates(accounts, rateRows);
      addSubscriptions(accounts, subscriptionRows);
      const state = accounts.get(id)!;
      release(state, reservations as (StoredRow & { has_slot: boolean })[]);
      const states = [...state.subscriptions.values()];
      return {
        cut: (cut as { cut: string }[])[0]!.cut,
        balanceNano: state.money.balanceNano,
        accountRow: accountRow.row,
        balanceRow: withCounted(balanceRow, BALANCES.written, state.money),
        keyLimitRows: keyRows.map((row) => withCounted(row, KEY_LIMITS.written, state.keys.get(String(row.key_id))!)),
        rateLimitRows: rateRows.map((row) =>
          withCounted(row, RATE_LIMITS.written, state.rates.get(rateName(RATE_LIMITS.columns.read(row)))!),
        ),
        releasedSlots: new Set(states.flatMap(({ deletedSlots }) => deletedSlots)),
        subscriptionRows: (slotsOf) =>
          subscriptionRows.map((row) => {
            const subscription = state.subscriptions.get(String(row.id))!;
            return withCounted(row, SUBSCRIPTIONS.written, {
              ...subscription,
              slots: slotsOf.get(subscription.id) ?? 0,
            });
          }),
      };
    },
    slicesOf(id, cut) {
      const parameters = [id, cut];
      return {
        apiKeys: slices(apiKeys, parameters),
        ledgerEntries: slices(ledgerEntries, parameters),
        calls: slices(calls, parameters),
        planSlots: slices(planSlots, parameters),
        subscriptionRequests: slices(subscriptionRequests, parameters),
        continuationKeys: slices(continuationKeys, parameters),
        storedResponses: slices(sliceStoredResponses, parameters),
      };
    },
    accountRequests: (lastAccountId) => slices({ statement: sliceAccountRequests, first: [''] }, [lastAccountId]),
    priceLists: () => slices({ statement: slicePriceLists, first: [FIRST_UUID] }, []),
    routeDrains: () => slices(sliceRouteDrains, []),
    adminTokens: () => slices(sliceAdminTokens, []),
    close: () => reader.close(),
  };
}

/** The row with what is counted as a decision has left it. */
function withCounted<Row extends object>({ row }: ExportedRow, columns: TableColumns<Row>, state: Row): string {
  const counted = columns.names.map((name, i) => `,"${name}":${toJson(columns.values[i]!(state))}`);
  return `${row.slice(0, -1)}${counted.join('')}}`;
}

function toJson(value: SqlValue): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

/** No list has it: ids are hashes. */
const FIRST_UUID = '00000000-0000-0000-0000-000000000000';

/** No day begins because of it: what a key used on its day stays as it is. */
const NO_DAY = '';

/** Gives everything back that calls in flight have taken, as if they had never been admitted. */
function release(account: AccountState, rows: readonly (StoredRow & { has_slot: boolean })[]): void {
  for (const row of rows) {
    const reservation: OpenReservation = { ...RESERVATIONS.read(row), hasSlot: row.has_slot };
    freeReservation(reservation, NO_USE, account, NO_DAY);
  }
}
