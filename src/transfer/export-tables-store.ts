import { KEY_LIMITS } from '../accounting/accounts/key-limit-tables.ts';
import { BALANCES, HAS_SLOT, RATE_LIMITS, RESERVATIONS, SUBSCRIPTIONS } from '../accounting/reservations/tables.ts';
import type { Statement, StoredRow } from '../db/database.ts';
import type { ExportedTable } from './tables.ts';

/** This file reads whole tables by cursors, in index order. Cursors over rows of accounts advance together, in the order of accounts. */

/** A row as JSON, which the database has produced. */
export interface ExportedRow {
  readonly row: string;
}

/** A row of an account, with the additional columns of its statement. */
export interface AccountRow extends StoredRow, ExportedRow {
  readonly account_id: string;
  /** Id of a key, or of the call of a slot. */
  readonly id?: string;
  /** Amount of a ledger entry, or charge of a call. */
  readonly nano?: bigint | null;
}

interface Options {
  readonly where?: string;
  readonly columns?: string;
  readonly row?: string;
}

function read(
  table: ExportedTable,
  order: string,
  { where = '', columns = '', row = 'row_to_json(t)' }: Options = {},
): Statement {
  return {
    name: `export.read-${table}`,
    text: `select (${row})::text as row${columns} from ${table} t ${where} order by ${order}`,
  };
}

/** Reads a table by account. Uses the primary key, which begins with the account; for `calls`, it merges the primary keys of all months. */
const readByAccount = (table: ExportedTable, key: string, { columns = '', ...options }: Options = {}): Statement =>
  read(table, `t.account_id, ${key}`, { ...options, columns: `, t.account_id${columns}` });

/** Selects sums of dropped records whose drop is complete. */
const OF_COMPLETE_DROPS = {
  where: `where exists (
  select from dropped_months m where m.month = t.dropped_in and m.dropped_at is not null
)`,
};

/** Accounts, without the partition number, which is valid only in this database. */
export const ACCOUNTS = read('accounts', 't.id', {
  row: `to_jsonb(t) - 'partition_no'`,
  columns: ', t.id, t.partition_no::int as partition',
});

/** Reads a table in which calls in flight change `columns`. These are written once the reservations are released. */
function withCounts(
  table: ExportedTable,
  order: string,
  {
    columns,
    written,
  }: { readonly columns: { of(alias: string): string }; readonly written: { readonly names: readonly string[] } },
): Statement {
  const names = written.names.map((column) => `'${column}'`).join(', ');
  return read(table, order, { row: `to_jsonb(t) - array[${names}]`, columns: `, ${columns.of('t')}` });
}

/** Tables that calls in flight change, with the reservations of these calls. */
export const STATE = {
  balances: withCounts('balances', 't.account_id', BALANCES),
  key_limits: withCounts('key_limits', 't.account_id, t.key_id', KEY_LIMITS),
  rate_limits: withCounts('rate_limits', 't.account_id, t.key_id, t.model', RATE_LIMITS),
  subscriptions: withCounts('subscriptions', 't.account_id, t.id', SUBSCRIPTIONS),
  reservations: {
    name: 'export.read-reservations',
    text: `select ${RESERVATIONS.of('r')}, ${HAS_SLOT} from reservations r order by r.account_id, r.call_id`,
  },
} as const;

export const OF_DIRECTORY = {
  api_keys: readByAccount('api_keys', 't.id', { columns: ', t.id' }),
  voucher_redemptions: readByAccount('voucher_redemptions', 't.code_hash'),
} as const satisfies Partial<Record<ExportedTable, Statement>>;

export const OF_PARTITION = {
  notice_states: readByAccount('notice_states', 't.subject'),
  ledger_entries: readByAccount('ledger_entries', 't.entry_no', { columns: ', t.amount_nano as nano' }),
  calls: readByAccount('calls', 't.id, t.started_at', { columns: ', t.charge_nano as nano' }),
  dropped_calls: readByAccount('dropped_calls', 't.dropped_in, t.month', OF_COMPLETE_DROPS),
  dropped_uses: readByAccount('dropped_uses', 't.dropped_in, t.owner_id, t.counter, t.place', OF_COMPLETE_DROPS),
  dropped_usage: readByAccount(
    'dropped_usage',
    't.dropped_in, t.day, t.key_id, t.model, t.provider, t.status, t.context',
    OF_COMPLETE_DROPS,
  ),
  plan_slots: readByAccount('plan_slots', 't.call_id', { columns: ', t.call_id as id' }),
  subscription_requests: readByAccount('subscription_requests', 't.idempotency_key'),
  plan_periods: readByAccount('plan_periods', 't.subscription_id, t.starts_at'),
  continuation_keys: readByAccount('continuation_keys', 't.key'),
  /** Only responses of settled calls. */
  stored_responses: readByAccount('stored_responses', 't.key_id, t.idempotency_key', { where: 'where t.is_valid' }),
} as const satisfies Partial<Record<ExportedTable, Statement>>;

/** Tables without an account. Rows that are in each partition have a `key`, to return them once. Uses primary keys. */
export const WHOLE_TABLES = {
  account_requests: read('account_requests', 't.idempotency_key'),
  price_lists: read('price_lists', 't.id', { columns: ', t.id::text as key' }),
  /** Only months whose records were dropped. */
  dropped_months: read('dropped_months', 't.month', {
    where: 'where t.dropped_at is not null',
    columns: ', t.month::text as key',
  }),
  route_drains: read('route_drains', 't.provider, t.model, t.provider_model'),
  catalog_revisions: read('catalog_revisions', 't.number'),
  sealed_secrets: read('sealed_secrets', 't.name'),
  announcements: read('announcements', 't.id'),
  admin_tokens: read('admin_tokens', 't.id'),
  users: read('users', 't.id'),
  memberships: read('memberships', 't.user_id, t.account_id'),
  user_identities: read('user_identities', 't.id'),
  changes: read('changes', 't.id'),
  webhook_endpoints: read('webhook_endpoints', 't.id'),
  invoice_requests: read('invoice_requests', 't.id'),
  vouchers: read('vouchers', 't.code_hash'),
  voucher_batches: read('voucher_batches', 't.id'),
} as const satisfies Partial<Record<ExportedTable, Statement>>;
