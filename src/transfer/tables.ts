import type { Statement } from '../db/database.ts';
import type { DirectoryQueryable } from '../db/home-pools.ts';

/** This file names every table, exported or with a reason why not. `test/transfer/tables.test.ts` compares it with the schema. */

/** Column that is not exported: a partition number is valid in one database only. */
export const PLACE_COLUMN = 'partition_no';

/** Exported tables. Tables to which others refer come first, as an import requires. */
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
  'catalog_revisions',
  'sealed_secrets',
  'announcements',
  'admin_tokens',
  'users',
  'memberships',
  'user_identities',
  'changes',
  'webhook_endpoints',
  'invoice_requests',
  'notice_states',
  'voucher_batches',
  'vouchers',
] as const;

export type ExportedTable = (typeof EXPORTED_TABLES)[number];

/** Tables that every partition has, because calls of any account can refer to their rows. Each row is exported once. */
export const IN_EACH_PARTITION: ReadonlySet<ExportedTable> = new Set(['price_lists', 'dropped_months']);

export const TABLES_LEFT_OUT: Readonly<Record<string, string>> = {
  reservations: 'calls in flight are settled in the old database; the export contains their reservations as released',
  usage_queue: 'an import recomputes the sums from all call records',
  usage_backfill: 'an import recomputes the sums from all call records',
  usage_rollups: 'an import recomputes the sums from all call records and adds those of dropped records',
  usage_totals: 'as usage_rollups',
  usage_callers: 'an import recomputes the sums from all call records',
  route_hours: 'an import recomputes the rows from the call records',
  route_costs: 'an import recomputes the rows from the call records',
  nodes: 'running processes',
  limit_uses: 'running processes',
  account_changes: 'an import queues the accounts again',
  notices: 'notices are sent from the database in which they occurred',
  notice_deliveries: 'as notices',
  notice_receivers: 'as notices',
  send_rates: 'recent sends are counted in the database that sent them',
  key_expiry_progress: 'the new database finds expiring keys by itself',
  ended_keys_progress: 'the new database scans all revoked and expired keys again',
  key_uses: 'the new database records by itself when keys are used',
  refusals: 'refusals are kept for some days and have no further effect',
  price_source_reads: 'the new database reads the price source itself',
  sessions: 'people sign in again',
  oidc_flows: 'people begin a sign-in again',
  user_links: 'new links have to be created for unused ones',
  partitions: 'each database has its own partitions; an import spreads the accounts over them',
  database_identity: 'the first line of the export contains the identity',
  schema_migrations: 'the first line of the export contains the version',
};

export function isExportedTable(name: string): name is ExportedTable {
  return (EXPORTED_TABLES as readonly string[]).includes(name);
}

const listColumns: Statement = {
  name: 'transfer.list-columns',
  text: `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
  and a.attname <> '${PLACE_COLUMN}'
group by c.relname`,
};

/** Reads the columns of all tables. The schema of the directory has all of them, because it includes the first partition. */
export async function readColumns(directory: DirectoryQueryable): Promise<Record<ExportedTable, readonly string[]>> {
  const found = await directory.query<{ name: string; columns: string[] }>(listColumns);
  const columns = new Map(found.map((row) => [row.name, row.columns]));
  return byTable((table) => columns.get(table)!);
}

export const byTable = <Value>(make: (table: ExportedTable) => Value): Record<ExportedTable, Value> =>
  Object.fromEntries(EXPORTED_TABLES.map((table) => [table, make(table)])) as Record<ExportedTable, Value>;
