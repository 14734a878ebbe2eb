import type { Query, Statement } from '../db/database.ts';
import type { DirectorySnapshots, PartitionSnapshots } from '../db/home-lanes.ts';
import { HOMES } from '../db/homes.ts';
import type { BatchRange } from './export-cut-store.ts';
import type { ExportedTable } from './tables.ts';

/**
 * The SQL of the tables that grow with the calls of accounts: each is read in slices, of all accounts of a batch, in the order of
 * the accounts. A slice has rows of several small accounts, or a part of those of a large one.
 */

/** Bodies of stored responses in a slice; a single one may be larger. */
const SLICE_BODY_BYTES = 256 * 1024;

/**
 * How the rows of a table are read: those of the accounts from `$1` to `$2`, `$3` rows at most, behind the account `$4` and a key of it
 * (`$5` …).
 */
interface Sliced {
  readonly statement: Statement;
  /** A key before all of an account. */
  readonly first: readonly string[];
  /** Whether a slice may have fewer rows than asked for although more are left. */
  readonly isBoundedByBytes?: boolean;
}

/** Plans: primary keys, which begin with the account; of `calls`, those of all months, merged. */
function sliced(
  table: ExportedTable,
  {
    key,
    where = '',
    columns = '',
    row = 'row_to_json(t)',
  }: { key: readonly (readonly [string, string, string])[]; where?: string; columns?: string; row?: string },
): Sliced {
  const names = ['t.account_id', ...key.map(([name]) => `t.${name}`)].join(', ');
  const behind = ['$4::text', ...key.map(([, type], i) => `$${i + 5}::${type}`)].join(', ');
  const keys = key.map(([name], i) => `t.${name}::text as key_${i}`).join(', ');
  return {
    first: key.map(([, , first]) => first),
    statement: {
      name: `export.slice-${table}`,
      text: `select (${row})::text as row, t.account_id, ${keys}${columns} from ${table} t
where t.account_id >= $1::text and t.account_id <= $2::text ${where} and (${names}) > (${behind})
order by ${names} limit $3::int`,
    },
  };
}

const TEXT_KEY = (name: string) => [name, 'text', ''] as const;

/** What is valid of what was written down of dropped records. An export fails where records are dropped while it is made. */
const WRITTEN_DOWN = `and exists (
  select from dropped_months m where m.month = t.dropped_in and m.dropped_at is not null
)`;
const DROPPED_IN = ['dropped_in', 'date', '-infinity'] as const;

/** Responses of calls that have ended; claims of calls in flight are not exported. Plan: primary key. */
const storedResponses: Sliced = {
  first: ['', ''],
  isBoundedByBytes: true,
  statement: {
    name: 'export.slice-stored_responses',
    text: `select row_to_json(t)::text as row, t.account_id, t.key_id as key_0, t.idempotency_key as key_1
from (
  select account_id, key_id, idempotency_key, sum(coalesce(octet_length(body), 0)) over next_ones as bytes,
    row_number() over next_ones as place
  from (
    select * from stored_responses t
    where t.account_id >= $1::text and t.account_id <= $2::text and t.is_valid
      and (t.account_id, t.key_id, t.idempotency_key) > ($4::text, $5::text, $6::text)
    order by t.account_id, t.key_id, t.idempotency_key limit $3::int
  ) next
  window next_ones as (order by account_id, key_id, idempotency_key rows unbounded preceding)
) found
join stored_responses t on t.account_id = found.account_id and t.key_id = found.key_id
  and t.idempotency_key = found.idempotency_key
where found.place = 1 or found.bytes <= ${SLICE_BODY_BYTES}
order by t.account_id, t.key_id, t.idempotency_key`,
  },
};

const SLICED = {
  api_keys: sliced('api_keys', { key: [TEXT_KEY('id')] }),
  ledger_entries: sliced('ledger_entries', {
    key: [['entry_no', 'bigint', '0']],
    columns: ', t.amount_nano',
  }),
  calls: sliced('calls', {
    key: [TEXT_KEY('id'), ['started_at', 'timestamptz', '-infinity']],
    columns: ', t.charge_nano',
  }),
  dropped_calls: sliced('dropped_calls', {
    key: [DROPPED_IN, ['month', 'date', '-infinity']],
    where: WRITTEN_DOWN,
  }),
  dropped_uses: sliced('dropped_uses', {
    key: [DROPPED_IN, TEXT_KEY('owner_id'), TEXT_KEY('counter'), TEXT_KEY('place')],
    where: WRITTEN_DOWN,
  }),
  dropped_usage: sliced('dropped_usage', {
    key: [
      DROPPED_IN,
      ['day', 'date', '-infinity'],
      ...['key_id', 'model', 'provider', 'status', 'context'].map(TEXT_KEY),
    ],
    where: WRITTEN_DOWN,
  }),
  plan_slots: sliced('plan_slots', {
    key: [TEXT_KEY('call_id')],
    columns: ', t.subscription_id, t.call_id',
  }),
  subscription_requests: sliced('subscription_requests', {
    key: [TEXT_KEY('idempotency_key')],
  }),
  plan_periods: sliced('plan_periods', {
    key: [TEXT_KEY('subscription_id'), ['starts_at', 'timestamptz', '-infinity']],
  }),
  /**
   * On several servers redemptions are read later than the accounts. One that a transaction from `$6` on has changed may have been given
   * before, or not: it is exported as pending, and the import gives what the exported account lacks. Rows that are 2³¹
   * transactions old or older seem to be in the future.
   */
  voucher_redemptions: sliced('voucher_redemptions', {
    key: [['code_hash', 'bytea', '']],
    row: `case when $6::text is null or age(t.xmin) > age($6::text::xid) or age(t.xmin) < 0 then row_to_json(t)
    else (to_jsonb(t) || jsonb_build_object('entry_no', null, 'under_way_since', t.redeemed_at))::json end`,
  }),
  continuation_keys: sliced('continuation_keys', { key: [TEXT_KEY('key')] }),
  stored_responses: storedResponses,
} satisfies Partial<Record<ExportedTable, Sliced>>;

export type SlicedTable = keyof typeof SLICED;

/** A row as the database's JSON. */
export interface ExportedRow {
  readonly row: string;
}

export interface ExportedKey extends ExportedRow {
  /** The id. */
  readonly key_0: string;
}

/** What rows have beside. */
interface FurtherColumns {
  readonly api_keys: ExportedKey;
  readonly ledger_entries: { readonly amount_nano: bigint };
  readonly calls: { readonly charge_nano: bigint | null };
  readonly plan_slots: { readonly subscription_id: string; readonly call_id: string };
}

export type RowOf<Table> = ExportedRow & (Table extends keyof FurtherColumns ? FurtherColumns[Table] : unknown);

/** The rows of a table, of the accounts of a batch. Each account is asked for once, in the order of the batch. */
export interface BatchRows<Row extends ExportedRow> {
  /**
   * Calls `visit` with the rows of the account that have been read. Returns whether these were all; else the next slice has to
   * be read, and then the same account asked for again.
   */
  visit(accountId: string, visit: (row: Row) => void): boolean;
  readSlice(): Promise<void>;
}

/** What an account has rows in. */
export type BatchTables = { readonly [Table in SlicedTable]: BatchRows<RowOf<Table>> };

/** Tables of the directory: rows of all accounts of a batch. */
type DirectoryTable = 'api_keys' | 'voucher_redemptions';
const PARTITION_TABLES = (Object.keys(SLICED) as SlicedTable[]).filter((table) => HOMES[table] === 'partition');

/** Where slices of a batch are read. */
interface BatchPlace<Reader = DirectorySnapshots | PartitionSnapshots> {
  readonly reader: Reader;
  readonly range: BatchRange;
  /** Further parameters of the statement. */
  readonly more?: readonly (string | null)[];
  /** Whether an account is exported. */
  readonly isExported: (accountId: string) => boolean;
  readonly rowsMax: number;
}

export async function readRows<Row>(
  reader: DirectorySnapshots | PartitionSnapshots,
  statement: Statement,
  parameters: Query['parameters'],
): Promise<Row[]> {
  const [rows] = await reader.read([{ statement, parameters }]);
  return rows as Row[];
}

/** `redemptions`: those may be read elsewhere. */
export const openDirectoryTables = (
  keys: BatchPlace<DirectorySnapshots>,
  redemptions: BatchPlace<DirectorySnapshots>,
): Pick<BatchTables, DirectoryTable> => ({
  api_keys: new SlicedRows(keys, SLICED.api_keys),
  voucher_redemptions: new SlicedRows(redemptions, SLICED.voucher_redemptions),
});

/** Tables of a partition: rows of its own accounts. */
export const openPartitionTables = (place: BatchPlace<PartitionSnapshots>): Omit<BatchTables, DirectoryTable> =>
  Object.fromEntries(PARTITION_TABLES.map((table) => [table, new SlicedRows(place, SLICED[table])])) as unknown as Omit<
    BatchTables,
    DirectoryTable
  >;

interface PlacedRow extends ExportedRow {
  readonly account_id: string;
  readonly [key: `key_${number}`]: string;
}

class SlicedRows<Row extends ExportedRow> implements BatchRows<Row> {
  readonly #place: BatchPlace;
  readonly #sliced: Sliced;
  /** The slice that is visited, and the row that is next. */
  #rows: readonly (Row & PlacedRow)[] = [];
  #next = 0;
  #behind: readonly string[];
  #isLastSlice = false;

  constructor(place: BatchPlace, table: Sliced) {
    this.#place = place;
    this.#sliced = table;
    this.#behind = [place.range.first, ...table.first];
  }

  visit(accountId: string, visit: (row: Row) => void): boolean {
    for (; this.#next < this.#rows.length; this.#next++) {
      const row = this.#rows[this.#next]!;
      if (row.account_id === accountId) visit(row);
      // Of one that comes later. Rows of what is no account of the batch are passed over.
      else if (this.#place.isExported(row.account_id)) return true;
    }
    return this.#isLastSlice;
  }

  async readSlice(): Promise<void> {
    const { reader, range, rowsMax, more = [] } = this.#place;
    const { statement, first: firstKey, isBoundedByBytes = false } = this.#sliced;
    const parameters = [range.first, range.last, rowsMax, ...this.#behind, ...more];
    // Not both of them at a time: a slice may be large.
    this.#rows = [];
    this.#rows = await readRows<Row & PlacedRow>(reader, statement, parameters);
    this.#next = 0;
    const end = this.#rows.at(-1);
    this.#isLastSlice = end === undefined || (this.#rows.length < rowsMax && !isBoundedByBytes);
    if (end !== undefined) this.#behind = [end.account_id, ...firstKey.map((_, i) => end[`key_${i}`]!)];
  }
}
