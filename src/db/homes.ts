/**
 * The home of each table (docs/decisions/0060-homes-of-tables.md). The `directory` exists once. It contains tables that are read before the
 * account is known, and tables that belong to no account. A `partition` contains the tables that calls of its accounts read and change. The
 * first partition shares the directory's schema; each further one has its own schema (`partitions.ts`).
 *
 * No statement addresses tables of both homes, and no foreign key crosses them; `npm run check` and `test/db/homes.test.ts` verify this.
 */
export type Home = 'directory' | 'partition';

export const HOMES = {
  /** In the directory, so that names and e-mail addresses can be searched in one place. */
  accounts: 'directory',
  /** Looked up by idempotency key, before an account exists. */
  account_requests: 'directory',
  /** A request contains only the key. The directory maps the key's hash to the account. */
  api_keys: 'directory',
  users: 'directory',
  memberships: 'directory',
  sessions: 'directory',
  user_links: 'directory',
  user_identities: 'directory',
  oidc_flows: 'directory',
  admin_tokens: 'directory',
  /** Operators read changes of all accounts in one order. */
  changes: 'directory',
  /** Most refused requests have no known account. */
  refusals: 'directory',
  voucher_batches: 'directory',
  vouchers: 'directory',
  /** Only one account can redeem a code. The value is granted in that account's partition. */
  voucher_redemptions: 'directory',
  webhook_endpoints: 'directory',
  /** Created together with deliveries, which refer to endpoints and users. */
  notices: 'directory',
  notice_deliveries: 'directory',
  /** Operators receive notices of all accounts in one order. */
  notice_receivers: 'directory',
  /** Progress of a scan over all keys, like the next table. */
  key_expiry_progress: 'directory',
  ended_keys_progress: 'directory',
  /** An address may receive notices of several accounts. */
  send_rates: 'directory',
  route_drains: 'directory',
  catalog_revisions: 'directory',
  nodes: 'directory',
  database_identity: 'directory',
  partitions: 'directory',
  /** Further partitions have their own table of the same name. */
  schema_migrations: 'directory',

  balances: 'partition',
  ledger_entries: 'partition',
  /** Includes one table for each month. */
  calls: 'partition',
  /**
   * Written in the same transaction as the call record, so that every record has its prices and the end of a call needs only one home. Ids
   * are hashes of the content, so equal ids in two partitions denote the same list.
   */
  price_lists: 'partition',
  /** Written by the transaction that drops a month's records. */
  dropped_months: 'partition',
  dropped_calls: 'partition',
  dropped_uses: 'partition',
  dropped_usage: 'partition',
  subscriptions: 'partition',
  subscription_requests: 'partition',
  plan_periods: 'partition',
  /** Changed together with what a redemption grants, under the lock of the account. */
  plan_slots: 'partition',
  key_limits: 'partition',
  /** Written after calls, for many keys at a time. */
  key_uses: 'partition',
  rate_limits: 'partition',
  reservations: 'partition',
  stored_responses: 'partition',
  continuation_keys: 'partition',
  /** Written by the transactions that settle calls, like `account_changes`. */
  usage_queue: 'partition',
  usage_backfill: 'partition',
  usage_rollups: 'partition',
  /** Each partition contains the sums of its own accounts; readers add them up. */
  usage_totals: 'partition',
  /** Computed from call records, like the usage sums. */
  route_hours: 'partition',
  account_changes: 'partition',
  /** Levels for which a notice was already created. They change together with balances and plans. */
  notice_states: 'partition',
} as const satisfies Readonly<Record<string, Home>>;

export type Table = keyof typeof HOMES;
