/**
 * The home of each table (docs/decisions/0060-homes-of-tables.md). The `directory` exists once: tables that are read before the account is
 * known, or that belong to no account. A `partition` has the tables that calls of its accounts read and change (`partitions.ts`).
 *
 * No statement and no foreign key may cross homes; `npm run check` and `test/db/homes.test.ts` verify this.
 */
export type Home = 'directory' | 'partition';

export const HOMES = {
  /** In the directory, because names and e-mail addresses are searched in one place. */
  accounts: 'directory',
  /** In the directory, because they are looked up by idempotency key before an account exists. */
  account_requests: 'directory',
  /** In the directory, because the key of a request leads to its account. */
  api_keys: 'directory',
  users: 'directory',
  memberships: 'directory',
  sessions: 'directory',
  user_links: 'directory',
  user_identities: 'directory',
  oidc_flows: 'directory',
  admin_tokens: 'directory',
  /** In the directory, because operators read the changes of all accounts in one order. */
  changes: 'directory',
  /** In the directory, because most refused requests have no known account. */
  refusals: 'directory',
  voucher_batches: 'directory',
  vouchers: 'directory',
  /** In the directory, because only one account can redeem a code. What it gives is in the account's partition. */
  voucher_redemptions: 'directory',
  webhook_endpoints: 'directory',
  /** In the directory, because a transaction creates them with deliveries, which refer to endpoints and users. */
  notices: 'directory',
  notice_deliveries: 'directory',
  notice_receivers: 'directory',
  /** How far scans over all keys have got. */
  key_expiry_progress: 'directory',
  ended_keys_progress: 'directory',
  /** In the directory, because an address may receive notices of several accounts. */
  send_rates: 'directory',
  announcements: 'directory',
  /** In the directory, because operators read the requests of all accounts in one order. */
  invoice_requests: 'directory',
  route_drains: 'directory',
  catalog_revisions: 'directory',
  price_source_reads: 'directory',
  sealed_secrets: 'directory',
  nodes: 'directory',
  /** In the directory, because calls of all accounts use the same providers. */
  limit_uses: 'directory',
  database_identity: 'directory',
  partitions: 'directory',
  /** The directory's own; each further partition has another table of this name. */
  schema_migrations: 'directory',

  balances: 'partition',
  ledger_entries: 'partition',
  /** Includes one table for each month. */
  calls: 'partition',
  /** In the partition, because they are written with call records. An id is a hash of its list, so equal ids are the same list. */
  price_lists: 'partition',
  dropped_months: 'partition',
  dropped_calls: 'partition',
  dropped_uses: 'partition',
  dropped_usage: 'partition',
  subscriptions: 'partition',
  subscription_requests: 'partition',
  plan_periods: 'partition',
  /** In the partition, because redemptions of vouchers change them under the lock of the account. */
  plan_slots: 'partition',
  key_limits: 'partition',
  /** In the partition, because they are written after calls, for many keys at a time. */
  key_uses: 'partition',
  rate_limits: 'partition',
  reservations: 'partition',
  stored_responses: 'partition',
  continuation_keys: 'partition',
  usage_queue: 'partition',
  usage_backfill: 'partition',
  usage_rollups: 'partition',
  /** Sums of the partition's own accounts. Readers add up all partitions. */
  usage_totals: 'partition',
  usage_callers: 'partition',
  route_hours: 'partition',
  route_costs: 'partition',
  account_changes: 'partition',
  /** Levels for which a notice was created. They change with balances and plans. */
  notice_states: 'partition',
} as const satisfies Readonly<Record<string, Home>>;

export type Table = keyof typeof HOMES;
