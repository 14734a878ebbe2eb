import type { Statement } from '../db/database.ts';
import type { DirectoryQueryable } from '../db/home-lanes.ts';

/**
 * Every table of the schema: whether an export has its rows, or why it does not. `test/transfer/tables.test.ts` compares the
 * lists with the schema, so that no table is forgotten.
 */

/** Which partition an account is in, which is of one database alone: an export does not say it. */
export const PLACE_COLUMN = 'partition_no';

/** In an order in which rows can be inserted: what others refer to comes first. */
export const EXPORTED_TABLES = [
  'accounts',
  'account_requests',
  'balances',
  'api_keys',
  'key_limits',
  'rate_limits',
  'ledger_entries',
  'calls',
  'dropped_calls',
  'dropped_uses',
  'dropped_usage',
  'plan_slots',
  'subscriptions',
  'subscription_requests',
  'plan_periods',
  'voucher_redemptions',
  'continuation_keys',
  'stored_responses',
  'price_lists',
  'dropped_months',
  'route_drains',
  'admin_tokens',
  'users',
  'memberships',
  'user_identities',
  'changes',
  'webhook_endpoints',
  'notice_states',
  'voucher_batches',
  'vouchers',
] as const;

export type ExportedTable = (typeof EXPORTED_TABLES)[number];

/** What calls of any account may refer to: each partition has it, and an export once. */
export const IN_EACH_PARTITION: ReadonlySet<ExportedTable> = new Set(['price_lists', 'dropped_months']);

export const TABLES_LEFT_OUT: Readonly<Record<string, string>> = {
  reservations: 'calls in flight end in the database in which they began; an export has what they hold as free',
  usage_queue: 'an import sums all call records anew',
  usage_backfill: 'an import sums all call records anew',
  usage_rollups: 'an import sums all call records anew, and adds what those said that were dropped',
  usage_totals: 'as usage_rollups',
  route_hours: 'an import makes them of its call records anew',
  nodes: 'processes that run',
  account_changes: 'an import looks at all accounts anew',
  notices: 'what was to be told is told by the database in which it happened',
  notice_deliveries: 'as notices',
  notice_receivers: 'as notices',
  send_rates: 'what was sent lately is counted where it was sent',
  key_expiry_progress: 'keys that expire later are found by the new database',
  ended_keys_progress: 'the new database looks at all keys that have ended anew',
  key_uses: 'the new database learns by itself when keys are used',
  refusals: 'what was refused is kept for some days, and nothing follows from it',
  sessions: 'people sign in again',
  oidc_flows: 'people begin a sign-in again',
  user_links: 'whoever has not used a link gets another one',
  partitions: 'each database has its own, and spreads the accounts of an import over them',
  database_identity: 'one value, which the first line of an export has',
  schema_migrations: 'the first line of an export has the version',
};

export function isExportedTable(name: string): name is ExportedTable {
  return (EXPORTED_TABLES as readonly string[]).includes(name);
}

/** The columns of every table that an export has. */
const listColumns: Statement = {
  name: 'transfer.list-columns',
  text: `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
  and a.attname <> '${PLACE_COLUMN}'
group by c.relname`,
};

/** The first partition is in the schema of the directory, so all of them are there. */
export async function readColumns(directory: DirectoryQueryable): Promise<Record<ExportedTable, readonly string[]>> {
  const found = await directory.query<{ name: string; columns: string[] }>(listColumns);
  const columns = new Map(found.map((row) => [row.name, row.columns]));
  return byTable((table) => columns.get(table)!);
}

/** A value of each table. */
export const byTable = <Value>(make: (table: ExportedTable) => Value): Record<ExportedTable, Value> =>
  Object.fromEntries(EXPORTED_TABLES.map((table) => [table, make(table)])) as Record<ExportedTable, Value>;
