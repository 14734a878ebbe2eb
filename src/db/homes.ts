/**
 * Where each table lives (docs/decisions/0060-homes-of-tables.md). The `directory` is there once: what has to be known before it is
 * known which account is meant, and what belongs to no account. A `partition` has all that calls of its accounts read and change.
 * Accounts may be spread over partitions. The first one is in the schema of the directory, each further one in a schema of its own
 * (`partitions.ts`).
 *
 * No statement names tables of both homes, and no foreign key goes from one to the other: `npm run check` and
 * `test/db/homes.test.ts` hold that.
 */
export type Home = 'directory' | 'partition';

export const HOMES = {
  /** The directory says which accounts there are, so that names and e-mail addresses are looked for in one place. */
  accounts: 'directory',
  /** By their keys, whichever account they have made. */
  account_requests: 'directory',
  /** Only the hash of a key is known of a request: it leads to the account. */
  api_keys: 'directory',
  /** Which limits belong to no key is asked of keys. */
  users: 'directory',
  memberships: 'directory',
  sessions: 'directory',
  user_links: 'directory',
  user_identities: 'directory',
  oidc_flows: 'directory',
  admin_tokens: 'directory',
  /** Of accounts, and of all else that can be changed; read in one order. */
  changes: 'directory',
  /** Most are of requests whose account is not known. */
  refusals: 'directory',
  voucher_batches: 'directory',
  vouchers: 'directory',
  /** A code is redeemed once, by whichever account. What it gave is in the partition of that account. */
  voucher_redemptions: 'directory',
  webhook_endpoints: 'directory',
  /** Made with their deliveries, whose receivers are endpoints and people. */
  notices: 'directory',
  notice_deliveries: 'directory',
  /** Operators get what is about any account, in one order. */
  notice_receivers: 'directory',
  /** A walk over all keys, as the next one. */
  key_expiry_progress: 'directory',
  ended_keys_progress: 'directory',
  /** One address may get notices of several accounts. */
  send_rates: 'directory',
  route_drains: 'directory',
  nodes: 'directory',
  database_identity: 'directory',
  /** Which partitions there are, and where. */
  partitions: 'directory',
  /** Each partition behind the first one has a table of that name, too, of its own steps. */
  schema_migrations: 'directory',

  balances: 'partition',
  ledger_entries: 'partition',
  /** With its months, which are tables too. */
  calls: 'partition',
  /**
   * A record and its price list are written by one transaction, so that no record lacks its prices, and the end of a call needs no
   * other home. Ids are made of the content: what two partitions have under one id is the same list.
   */
  price_lists: 'partition',
  /** Written by the transaction that drops the records of a month. */
  dropped_months: 'partition',
  dropped_calls: 'partition',
  dropped_uses: 'partition',
  dropped_usage: 'partition',
  subscriptions: 'partition',
  subscription_requests: 'partition',
  plan_periods: 'partition',
  /** Decided with what the redemption would have given, under the lock of its account. */
  plan_slots: 'partition',
  key_limits: 'partition',
  /** Written behind calls, for many keys at a time. */
  key_uses: 'partition',
  rate_limits: 'partition',
  reservations: 'partition',
  stored_responses: 'partition',
  continuation_keys: 'partition',
  /** Written by the transactions that end calls, as `account_changes`. */
  usage_queue: 'partition',
  usage_backfill: 'partition',
  usage_rollups: 'partition',
  /** Each partition has the sums over its own accounts; whoever asks for all adds them up. */
  usage_totals: 'partition',
  /** Made from call records, as the sums of usage. */
  route_hours: 'partition',
  account_changes: 'partition',
  /** What was said of a balance and of a plan, decided under the changes of these. */
  notice_states: 'partition',
} as const satisfies Readonly<Record<string, Home>>;

export type Table = keyof typeof HOMES;
