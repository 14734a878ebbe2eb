-- The whole schema as of migration 44 (docs/decisions/0052-one-baseline.md). Some constraints keep the names of earlier migrations, so that
-- later ones find the same names everywhere. Five foreign keys from partition tables to the directory are omitted, because migration 47
-- drops them.
--
-- Amounts are in nano-yuan. Rows that admissions and settlements update have free space on their pages and no index on the updated columns,
-- so that the updates are heap-only.

-- home: directory

-- Accounts and their keys.

create table accounts (
  id text primary key,
  name text not null,
  email text,
  verified boolean not null,
  status text not null check (status in ('active', 'suspended')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- reason and time of the status; null: unchanged since the creation
  status_reason text,
  status_changed_at timestamptz,
  -- threshold of balance.low; null: the configured one
  low_balance_nano bigint check (low_balance_nano >= 0),
  -- whether members' keys can read the balance; otherwise they read the remainder of their budgets
  members_see_balance boolean not null default true
);

-- For lookups by complete name or e-mail address.
create index accounts_by_name on accounts (name);
create index accounts_by_email on accounts (email) where email is not null;

-- Makes account creations with an Idempotency-Key repeatable, including the first top-up.
create table account_requests (
  idempotency_key text primary key,
  -- the request; another one with the same key is a conflict
  request text not null,
  account_id text not null,
  created_at timestamptz not null
);

-- Only the SHA-256 of a key is stored; prefix is shown in lists.
create table api_keys (
  account_id text not null references accounts (id),
  id text not null,
  name text not null,
  key_hash bytea not null,
  prefix text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  -- allow-lists; null: not limited
  allowed_models text[],
  allowed_networks text[],
  scopes text[] not null default '{calls}' check (scopes <@ '{calls,account}' and cardinality(scopes) > 0),
  -- the owner of the key; null: the account
  user_id text,
  primary key (account_id, id)
);

create unique index api_keys_by_hash on api_keys (key_hash);
create unique index api_keys_by_id on api_keys (id);
-- For prefix searches, in byte order.
create index api_keys_by_prefix on api_keys (prefix collate "C");
create index api_keys_by_user on api_keys (account_id, user_id, id) where user_id is not null;
create index api_keys_by_expiry on api_keys (expires_at, id) where expires_at is not null and revoked_at is null;

-- home: partition

-- When a key was last used, updated once a minute after its calls. A separate table, because an export would omit a row of api_keys that
-- changes after its snapshot.
create table key_uses (
  account_id text not null,
  key_id text not null,
  last_used_at timestamptz not null,
  primary key (account_id, key_id)
) with (fillfactor = 70);

-- One row per account, changed by every admission and settlement.
create table balances (
  account_id text primary key,
  balance_nano bigint not null default 0,
  reserved_nano bigint not null default 0 constraint balances_held_nano_check check (reserved_nano >= 0),
  -- null: the configured cap
  daily_cap_nano bigint check (daily_cap_nano >= 0),
  -- charged on the day that began at day_began_at
  spent_nano bigint not null default 0,
  last_entry_no bigint not null default 0,
  -- the account's price as a share of the list price, in basis points: 10000 is the list price
  price_factor_basis_points int not null default 10000 check (price_factor_basis_points between 0 and 100000),
  -- the account's own daily cap, below the operator's; null: none
  own_daily_cap_nano bigint check (own_daily_cap_nano >= 0),
  -- Counts of a day, week, month or period belong to the one that began at this instant, by the terms of that time
  -- (docs/decisions/0010-plan-windows.md). Together with its number this identifies what a counter counts.
  day_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  day_no bigint not null default 0,
  -- counts that no record explains, as JSON; null: none
  counted_before jsonb
) with (fillfactor = 50);

-- Every change of a balance, numbered from 1 without gaps in each account. Without a foreign key to accounts: statements that write entries
-- lock the account's row in balances, and the check would slow a batch of 64 calls by a fifth.
create table ledger_entries (
  account_id text not null,
  entry_no bigint not null check (entry_no > 0),
  kind text not null check (kind in ('top_up', 'charge', 'refund', 'adjustment')),
  amount_nano bigint not null,
  balance_after_nano bigint not null,
  call_id text,
  memo text,
  idempotency_key text,
  created_at timestamptz not null,
  -- for a charge: the day of the account's spend; null: included in the account's counted_before
  day_no bigint,
  day_began_at timestamptz,
  -- the key budgets that count it, as JSON; null: none
  counted_key jsonb,
  primary key (account_id, entry_no),
  -- charges and refunds belong to a call
  constraint ledger_entries_call_check check ((kind in ('charge', 'refund')) = (call_id is not null))
);

create unique index ledger_one_charge_a_call on ledger_entries (account_id, call_id) where kind = 'charge';
create unique index ledger_by_idempotency_key on ledger_entries (account_id, idempotency_key)
  where idempotency_key is not null;
create index ledger_refunds_by_call on ledger_entries (account_id, call_id) where kind = 'refund';
-- Entries of a statement other than charges, which are many.
create index ledger_entries_beside_charges on ledger_entries (account_id, created_at) where kind <> 'charge';
-- Entries of vouchers, for the audit. Clients cannot send a key with a space.
create index ledger_voucher_entries on ledger_entries (account_id, entry_no)
  where idempotency_key like 'voucher %';

create function refuse_ledger_change() returns trigger language plpgsql as $body$
begin
  raise exception 'ledger entries are never changed or deleted; write a correcting entry instead';
end
$body$;

create trigger ledger_is_immutable before update or delete on ledger_entries
  for each row execute function refuse_ledger_change();
create trigger ledger_is_never_emptied before truncate on ledger_entries
  for each statement execute function refuse_ledger_change();

-- Price lists of call records, each stored once. Ids are hashes of the content, so nodes can compute them.
create table price_lists (
  id uuid primary key,
  -- unit prices in nano-yuan, as text in JSON
  prices jsonb not null
);

-- Call records, partitioned by month of admission; retention drops partitions.
create table calls (
  account_id text not null,
  id text not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  key_id text not null,
  context text not null,
  operation text not null,
  model text not null,
  provider text not null,
  provider_model text not null,
  is_stream boolean not null,
  status text not null check (status in ('succeeded', 'failed', 'aborted', 'unresolved', 'resolved')),
  http_status integer,
  error_code text,
  -- assigned by the provider or the gateway
  request_id text not null,
  first_byte_ms integer,
  usage_source text check (usage_source in ('observed', 'estimated')),
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  cache_write_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  price_rule text not null,
  -- for records older than price_list: prices at admission in nano-yuan, as text in JSON
  prices jsonb,
  -- null: not charged
  charge_nano bigint,
  -- units of images and rerank calls
  image_input_tokens bigint not null default 0,
  image_output_tokens bigint not null default 0,
  images bigint not null default 0,
  search_units bigint not null default 0,
  -- routes tried before another one accepted the call, as a JSON list; null: none
  failed_routes jsonb,
  -- for an unresolved call on the balance: the reservation, which is its maximum cost; otherwise null
  reserved_nano bigint,
  -- facts that a charge does not explain by itself, as JSON; null: none
  notes jsonb,
  -- rare usage units by name; null: none
  other_units jsonb,
  -- prices at admission; null: the call is unresolved
  price_list uuid,
  -- the account's price factor at admission; null: list price
  price_factor_basis_points int,
  -- the operator's cost, by the route that served the call; null: unknown
  cost_nano bigint,
  -- whether the final record was queued for usage sums; null: unresolved, or imported without queueing
  is_queued boolean,
  -- the client's request id; null: none
  client_request_id text,
  -- the windows, quotas and daily counts that include the call, as JSON; null: none, or included in counted_before
  counted jsonb,
  primary key (account_id, id, started_at)
) partition by range (started_at);

create index calls_by_id on calls (id);
-- For searches by client or provider request id. Bloom filters per page range, because provider ids are unordered and a B-tree would slow
-- settlements.
create index calls_by_request on calls using brin (request_id text_bloom_ops, client_request_id text_bloom_ops)
  with (autosummarize = on);

-- For months without a prepared partition; normally empty.
create table calls_default partition of calls default;

-- By status, newest first, without the status of nearly all calls.
create index calls_by_status on only calls (status, id) where status <> 'succeeded';
create index calls_default_by_status on calls_default (status, id) where status <> 'succeeded';
alter index calls_by_status attach partition calls_default_by_status;

-- A subscription and its counters, locked by every admission and settlement of a coding call.
create table subscriptions (
  account_id text not null,
  id text not null,
  plan_id text not null,
  -- the anchor of weeks and periods; a renewal changes only ends_at
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  canceled_at timestamptz,
  created_at timestamptz not null,
  -- rows in plan_slots; rows older than five hours count until they are deleted
  slots bigint not null default 0 check (slots >= 0),
  -- numbers and counts of the current week and period; reservations refer to the numbers
  week_no bigint not null default 0,
  week_calls bigint not null default 0 check (week_calls >= 0),
  period_no bigint not null default 0,
  period_tokens bigint not null default 0 check (period_tokens >= 0),
  in_flight bigint not null default 0 check (in_flight >= 0),
  -- reserved by calls in flight
  period_reserved_tokens bigint not null default 0
    constraint subscriptions_period_held_tokens_check check (period_reserved_tokens >= 0),
  week_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  period_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  -- number of counted call records; each record has its number
  use_no bigint not null default 0,
  -- counts that no record explains, as JSON; null: none
  counted_before jsonb,
  primary key (account_id, id),
  check (starts_at < ends_at)
) with (fillfactor = 50);

create unique index subscriptions_by_id on subscriptions (id);
-- For counting the active subscriptions of a plan.
create index subscriptions_by_plan on subscriptions (plan_id, ends_at) where canceled_at is null;

-- Makes grants and renewals with an Idempotency-Key repeatable.
create table subscription_requests (
  account_id text not null,
  idempotency_key text not null,
  -- the request; another one with the same key is a conflict
  request text not null,
  subscription_id text not null,
  created_at timestamptz not null,
  primary key (account_id, idempotency_key)
);

-- One row per call in the five-hour window.
create table plan_slots (
  account_id text not null,
  subscription_id text not null,
  call_id text not null,
  taken_at timestamptz not null,
  primary key (account_id, call_id)
);

create index plan_slots_by_time on plan_slots (account_id, subscription_id, taken_at);

-- Limits of keys and their usage.
create table key_limits (
  account_id text not null,
  key_id text not null,
  -- null: not limited
  daily_spend_cap_nano bigint check (daily_spend_cap_nano >= 0),
  daily_calls_max bigint check (daily_calls_max >= 0),
  concurrency_max bigint check (concurrency_max >= 0),
  -- of the day that began at day_began_at
  spent_nano bigint not null default 0,
  calls bigint not null default 0 check (calls >= 0),
  reserved_nano bigint not null default 0 constraint key_limits_held_nano_check check (reserved_nano >= 0),
  in_flight bigint not null default 0 check (in_flight >= 0),
  -- null: not limited
  weekly_spend_cap_nano bigint check (weekly_spend_cap_nano >= 0),
  monthly_spend_cap_nano bigint check (monthly_spend_cap_nano >= 0),
  total_spend_cap_nano bigint check (total_spend_cap_nano >= 0),
  -- of the week (from Monday) and month that began then, and since the key has limits
  week_spent_nano bigint not null default 0,
  month_spent_nano bigint not null default 0,
  total_spent_nano bigint not null default 0,
  day_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  week_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  month_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  -- numbers of the current periods; reservations refer to the day in which they were counted
  day_no bigint not null default 0,
  week_no bigint not null default 0,
  month_no bigint not null default 0,
  -- number of counted call records; each record has its number
  use_no bigint not null default 0,
  -- counts that no record explains, including those of the replaced key, as JSON; null: none
  counted_before jsonb,
  primary key (account_id, key_id)
) with (fillfactor = 50);

-- Requests and tokens per minute of an account or key, for all models or one, with their usage. A row without its own limits counts against
-- configured limits.
create table rate_limits (
  account_id text not null,
  -- '': the account
  key_id text not null,
  -- '': all models together
  model text not null,
  -- null: not limited
  requests_max bigint check (requests_max > 0),
  tokens_max bigint check (tokens_max > 0),
  -- usage at counted_at in 60,000ths: a limit of n per minute frees n of these per millisecond
  counted_at timestamptz not null default '1970-01-01T00:00:00Z',
  requests_used bigint not null default 0 check (requests_used >= 0),
  tokens_used bigint not null default 0 check (tokens_used >= 0),
  primary key (account_id, key_id, model)
) with (fillfactor = 50);

-- Reservations of calls in flight, for all their limits. Without foreign keys, like ledger_entries.
create table reservations (
  account_id text not null,
  call_id text not null,
  key_id text not null,
  model text not null,
  node_id text not null,
  reserved_at timestamptz not null,
  -- facts known at admission, as a JSON list; text, because it is read only after a node died
  facts text not null,
  -- on the balance; otherwise null
  amount_nano bigint check (amount_nano >= 0),
  -- on a Coding Plan; otherwise null
  subscription_id text,
  week_no bigint,
  period_no bigint,
  tokens bigint check (tokens >= 0),
  -- of the key's limits; null: none
  key_amount_nano bigint check (key_amount_nano >= 0),
  -- tokens counted against limits per minute at admission; null: none
  rate_tokens bigint check (rate_tokens >= 0),
  -- the key's day in which it is counted; null: the key has no limits
  key_day_no bigint,
  -- bucket fills after the admission, from which the settlement computes what has not drained; null: none
  rate_fills text,
  primary key (account_id, call_id)
);

-- Stored responses of idempotent calls. A row is claimed before the call, filled before the settlement, and valid once the settlement
-- commits. Keys are hashes. Rows are deleted after they expire.
create table stored_responses (
  account_id text not null,
  key_id text not null,
  idempotency_key text not null,
  -- hash of the request; other requests must not get this response
  fingerprint text not null,
  -- the call; a claim left by a dead node is replaced
  claim_id text not null,
  -- until when the node of the call is considered alive
  claimed_until timestamptz not null,
  expires_at timestamptz not null,
  -- status and headers, or the error; null until the response is known
  head jsonb,
  -- null for errors and for responses that are too large
  body bytea,
  is_valid boolean not null default false,
  constraint kept_answers_pkey primary key (account_id, key_id, idempotency_key)
);

create index stored_responses_by_expiry on stored_responses (expires_at);
create unique index stored_responses_by_claim on stored_responses (account_id, claim_id);

-- State at providers that later calls may refer to, with the provider that created it. Keys are hashes. Rows are deleted after every
-- provider's own retention.
create table continuation_keys (
  account_id text not null,
  key text not null,
  model text not null,
  provider text not null,
  made_at timestamptz not null,
  -- size of a response, which a call that continues it reads; null: unknown
  total_tokens bigint,
  constraint affinities_pkey primary key (account_id, key)
);

create index continuation_keys_by_age on continuation_keys (made_at);

-- home: directory

-- Providers, models at providers, and routes that get no new calls. Empty text means all: it is part of the key, and no model has this
-- name.
create table route_drains (
  provider text not null,
  model text not null,
  provider_model text not null,
  reason text,
  drained_by text not null,
  drained_at timestamptz not null,
  primary key (provider, model, provider_model)
);

-- home: partition

-- Daily usage sums, computed in the background from call records, each counted once (docs/decisions/0033-usage-rollups.md).

-- Records not yet in the sums: a row per batch of calls, written with their records, or per refund. The transaction that adds it to the
-- sums deletes the row.
create table usage_queue (
  queued_at timestamptz not null default now(),
  account_ids text[] not null,
  call_ids text[] not null,
  started_ats timestamptz[] not null,
  -- a refund of the single call in the row; null: the calls themselves
  entry_no bigint
);
-- Compression would cost settlements more than it saves.
alter table usage_queue alter column account_ids set storage external;
alter table usage_queue alter column call_ids set storage external;
alter table usage_queue alter column started_ats set storage external;

-- Queues a record of an unresolved call when any statement makes it final.
create function queue_resolved_call() returns trigger language plpgsql as $body$
begin
  new.is_queued := true;
  insert into usage_queue (account_ids, call_ids, started_ats)
  values (array[new.account_id], array[new.id], array[new.started_at]);
  return new;
end
$body$;

create trigger calls_resolved_are_queued before update on calls for each row
  when (old.status = 'unresolved' and new.status <> 'unresolved') execute function queue_resolved_call();

create function queue_refund() returns trigger language plpgsql as $body$
begin
  insert into usage_queue (account_ids, call_ids, started_ats, entry_no)
  values (array[new.account_id], array[new.call_id], '{}', new.entry_no);
  return null;
end
$body$;

create trigger ledger_refunds_are_queued after insert on ledger_entries for each row
  when (new.kind = 'refund' and new.call_id is not null) execute function queue_refund();

-- The last unqueued record that is included in the sums.
create table usage_backfill (
  is_only boolean primary key default true check (is_only),
  last_call_id text not null default '',
  is_done boolean not null default false
);
insert into usage_backfill default values;

-- Final calls and refunds of an account per day of the billing time zone.
create table usage_rollups (
  account_id text not null,
  day date not null,
  key_id text not null,
  model text not null,
  provider text not null,
  status text not null,
  context text not null,
  calls bigint not null,
  charge_nano bigint not null,
  refund_nano bigint not null,
  cost_nano bigint not null,
  -- calls with usage and unknown cost
  uncosted_calls bigint not null,
  images bigint not null,
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  cache_write_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  image_input_tokens bigint not null,
  audio_input_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  image_output_tokens bigint not null,
  audio_output_tokens bigint not null,
  search_units bigint not null,
  web_searches bigint not null,
  web_fetches bigint not null,
  file_searches bigint not null,
  code_executions bigint not null,
  containers bigint not null,
  other_tool_uses bigint not null,
  primary key (account_id, day, key_id, model, provider, status, context)
) with (fillfactor = 80);

-- The same sums over all accounts, so that queries over all accounts read few rows.
create table usage_totals (like usage_rollups including constraints) with (fillfactor = 50);
alter table usage_totals drop column account_id, drop column key_id;
alter table usage_totals add primary key (day, model, provider, status, context);

-- home: directory

-- Users, their rights, and links for signing in.

create table users (
  id text primary key,
  -- as entered by the creator of the user; not verified
  email text,
  name text not null,
  -- e-mail address, or name without one, in normalized form
  sign_in_name text not null,
  -- argon2id in PHC format; null: none
  password_hash text,
  operator_role text check (operator_role in ('operator', 'auditor')),
  status text not null check (status in ('active', 'suspended')),
  created_at timestamptz not null,
  last_sign_in_at timestamptz
);
create unique index users_by_sign_in_name on users (sign_in_name);
create index users_by_operator_role on users (operator_role, id) where operator_role is not null;

create table memberships (
  user_id text not null references users (id) on delete cascade,
  account_id text not null references accounts (id),
  role text not null check (role in ('owner', 'member')),
  created_at timestamptz not null,
  primary key (user_id, account_id)
);
create index memberships_by_account on memberships (account_id, user_id);

-- The token exists only in the browser.
create table sessions (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  token_hash bytea not null,
  created_at timestamptz not null,
  -- accurate to a minute
  last_seen_at timestamptz not null,
  expires_at timestamptz not null,
  client_address text,
  user_agent text
);
create unique index sessions_by_token on sessions (token_hash);
create index sessions_by_user on sessions (user_id, id);
create index sessions_by_end on sessions (expires_at);

-- One-time links. Links of a user set its password; an invitation creates a user or adds a member.
create table user_links (
  id text primary key,
  token_hash bytea not null,
  kind text not null check (kind in ('first_sign_in', 'invitation', 'reset')),
  user_id text references users (id) on delete cascade,
  email text,
  account_id text references accounts (id),
  role text check (role in ('owner', 'member')),
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  -- the creator; the link is valid only while this user may create it; null: not created by a user
  created_by_user_id text,
  check ((kind = 'invitation') = (user_id is null)),
  check ((kind = 'invitation') = (account_id is not null and role is not null))
);
create unique index user_links_by_token on user_links (token_hash);
create index user_links_by_user on user_links (user_id) where user_id is not null;
create index user_links_by_account on user_links (account_id, id) where account_id is not null;
create index user_links_by_end on user_links (expires_at);

-- Identities at OpenID providers, and pending sign-ins there.
create table user_identities (
  id text primary key,
  issuer text not null,
  subject text not null,
  user_id text not null references users (id) on delete cascade,
  created_at timestamptz not null,
  last_used_at timestamptz,
  unique (issuer, subject)
);
create index user_identities_by_user on user_identities (user_id, id);

-- The browser has the secret in a cookie. The first use deletes the row.
create table oidc_flows (
  handle_hash bytea primary key,
  provider text not null,
  link_token_hash bytea,
  -- the signed-in user who adds this identity
  attach_to_user_id text references users (id) on delete cascade,
  return_to text not null,
  expires_at timestamptz not null
);
create index oidc_flows_by_end on oidc_flows (expires_at);
create index oidc_flows_by_user on oidc_flows (attach_to_user_id) where attach_to_user_id is not null;

-- Named tokens of the admin API, in addition to the token of the environment.
create table admin_tokens (
  id text primary key,
  name text not null,
  role text not null check (role in ('operator', 'auditor')),
  -- SHA-256; the text is not stored
  token_hash bytea not null,
  prefix text not null,
  created_at timestamptz not null,
  -- name of the creator at that time
  created_by text not null,
  -- null: never
  expires_at timestamptz,
  revoked_at timestamptz,
  -- updated at most once a minute
  last_used_at timestamptz
);
create unique index admin_tokens_by_hash on admin_tokens (token_hash);
create unique index admin_tokens_by_name on admin_tokens (name) where revoked_at is null;

-- The audit log: who changed what, from where and when. A row is written before the change and updated once with its outcome; later it is
-- deleted.
create table changes (
  -- ids sort by time, so the oldest come first
  id text primary key,
  begun_at timestamptz not null,
  ended_at timestamptz,
  -- begun: the outcome is unknown
  outcome text not null check (outcome in ('begun', 'done', 'failed')),
  actor_kind text not null,
  actor_id text,
  actor_name text not null,
  session_id text,
  -- the operating system's user name at the command line
  local_user text,
  -- null: no request
  method text,
  path text,
  action text not null,
  subject_kind text not null,
  subject_id text,
  account_id text,
  before jsonb,
  after jsonb,
  client_address text,
  request_id text,
  error_code text
);
create index changes_by_actor_kind on changes (actor_kind, id);
create index changes_by_actor on changes (actor_id, id) where actor_id is not null;
create index changes_by_action on changes (action, id);
create index changes_by_subject on changes (subject_id, id) where subject_id is not null;
create index changes_by_account on changes (account_id, id) where account_id is not null;

create table refusals (
  -- the request id, or a similar id for a count; ids sort by time, so the oldest come first
  id text primary key,
  at timestamptz not null,
  -- number of refusals in that minute with this account and code
  count bigint not null check (count > 0),
  -- null: unknown
  account_id text,
  key_id text,
  client_request_id text,
  client_address text,
  method text,
  path text,
  operation text,
  model text,
  status bigint,
  code text not null,
  message text,
  param text
);
create index refusals_by_account on refusals (account_id, id) where account_id is not null;
create index refusals_by_code on refusals (code, id);
create index refusals_by_client_request on refusals (client_request_id) where client_request_id is not null;
-- For a member, who sees only the refusals of their own keys.
create index refusals_by_key on refusals (key_id, id) where key_id is not null;

-- home: partition

-- Notices and their deliveries (docs/decisions/0040-notices.md).

-- Accounts with a changed balance or plan, queued by the job that sums usage and by every entry other than a charge. The transaction that
-- checks the accounts deletes the row. A short table, read from its start without an index.
create table account_changes (
  account_ids text[] not null
);
alter table account_changes alter column account_ids set storage external;

create function queue_account_change() returns trigger language plpgsql as $body$
begin
  insert into account_changes (account_ids) values (array[new.account_id]);
  return null;
end
$body$;

create trigger ledger_changes_are_queued after insert on ledger_entries for each row
  when (new.kind <> 'charge') execute function queue_account_change();

-- Notified levels that still apply: a low balance, the used percentage of a plan's quota. Without a row nothing was notified.
create table notice_states (
  account_id text not null,
  subject text not null,
  -- the period of the level; empty: none
  occurrence text not null,
  level bigint not null,
  primary key (account_id, subject)
);

-- home: directory

-- Receivers of signed notices.
create table webhook_endpoints (
  id text primary key,
  -- null: belongs to the operators and gets notices of all accounts
  account_id text references accounts (id),
  url text not null,
  -- needed for signing, so it is not hashed
  secret text not null,
  -- null: all
  events text[],
  status text not null check (status in ('active', 'disabled')),
  status_reason text,
  -- since when all attempts have failed; null: the last one succeeded, or there was none
  failing_since timestamptz,
  -- makes the creation repeatable
  idempotency_key text,
  created_at timestamptz not null
);
create unique index webhook_endpoints_by_idempotency_key on webhook_endpoints (coalesce(account_id, ''), idempotency_key)
  where idempotency_key is not null;
create index webhook_endpoints_by_account on webhook_endpoints (account_id, id);

create table notices (
  id text primary key,
  kind text not null,
  -- null: for operators only
  account_id text,
  -- the affected object, unique within the kind
  subject text not null,
  -- identifies the occurrence; at most one notice each
  dedupe_key text not null,
  data jsonb not null,
  at timestamptz not null
);
create unique index notices_by_dedupe_key on notices (dedupe_key);
create index notices_by_subject on notices (kind, subject, at);

-- Receivers are ids of endpoints, or `mail:` and an address.
create table notice_deliveries (
  notice_id text not null,
  receiver text not null,
  status text not null check (status in ('pending', 'delivered', 'failed')),
  attempts bigint not null default 0,
  next_attempt_at timestamptz not null,
  last_attempt_at timestamptz,
  last_status bigint,
  last_error text,
  primary key (notice_id, receiver)
) with (fillfactor = 80);
create index notice_deliveries_due on notice_deliveries (receiver, next_attempt_at) where status = 'pending';
create index notice_deliveries_by_receiver on notice_deliveries (receiver, notice_id);

-- Receivers with pending deliveries. One node at a time sends to a receiver, one notice after the other.
create table notice_receivers (
  receiver text primary key,
  channel text not null,
  next_at timestamptz not null,
  -- consecutive failed attempts
  failures bigint not null default 0,
  lease_id text,
  leased_until timestamptz
) with (fillfactor = 70);
create index notice_receivers_due on notice_receivers (channel, next_at);

-- Progress of the scans for expiring keys, by remaining days.
create table key_expiry_progress (
  days_left bigint primary key,
  expires_at timestamptz not null,
  key_id text not null
);

-- When the send debts of an address, an account, or an account's endpoints are repaid. Repaid rows are deleted.
create table send_rates (
  subject text primary key,
  repaid_at timestamptz not null
);
create index send_rates_by_repaid_at on send_rates (repaid_at);

-- Codes that accounts redeem once, for an amount or for a period of a plan.

create table voucher_batches (
  id text primary key,
  name text not null,
  -- the amount of each voucher; null: it grants a plan
  amount_nano bigint check (amount_nano > 0),
  plan_id text,
  voucher_count bigint not null check (voucher_count > 0),
  -- null: never
  expires_at timestamptz,
  created_at timestamptz not null,
  -- name of the creator at that time
  created_by text not null,
  -- vouchers redeemed before remain redeemed
  canceled_at timestamptz,
  idempotency_key text,
  check ((amount_nano is null) <> (plan_id is null))
);
create unique index voucher_batches_by_key on voucher_batches (idempotency_key) where idempotency_key is not null;

-- Never changed. Redemptions are separate rows that belong to accounts, so that an export contains them together with their entries. No
-- foreign key to the batch, because an export reads the two at different times.
create table vouchers (
  -- SHA-256; the code is not stored
  code_hash bytea primary key,
  batch_id text not null,
  -- shown to support
  code_end text not null
);

create table voucher_redemptions (
  code_hash bytea primary key,
  id text not null,
  batch_id text not null,
  code_end text not null,
  account_id text not null references accounts (id),
  redeemed_at timestamptz not null,
  -- name of the actor at that time
  redeemed_by text not null,
  -- the ledger entry of an amount, or the subscription of a plan
  entry_no bigint,
  subscription_id text,
  check ((entry_no is null) <> (subscription_id is null))
);
create index voucher_redemptions_by_account on voucher_redemptions (account_id, code_hash);
create unique index voucher_redemptions_by_batch on voucher_redemptions (batch_id, id);

-- Processes that share the database. Heartbeats use the database's clock. Another node takes over the calls of a node without heartbeats
-- and records them as unresolved.
create table nodes (
  id text primary key,
  started_at timestamptz not null,
  seen_at timestamptz not null
) with (fillfactor = 50);

-- Distinguishes databases: what a node stores on its own disk for one must never be applied to another.
create table database_identity (
  id text primary key,
  -- whether this is the demo's database, whose balances nobody has paid for; null: no gateway has used it
  is_demo boolean
);

insert into database_identity (id) values (gen_random_uuid()::text);
