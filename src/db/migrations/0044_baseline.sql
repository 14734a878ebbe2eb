-- The whole schema as of migration 44 (docs/decisions/0052-one-baseline.md). Names of constraints that do not fit their tables are
-- those that databases have which were made by the steps before it, so that later steps find the same ones everywhere. Five foreign keys
-- that they had from tables of a partition to the directory are left out: step 47 drops them.
--
-- All amounts are nano-yuan. What every admission and end of a call changes has room on its pages and no index on what changes, so
-- that each change is a heap-only update.

-- home: directory

-- Who pays, and with which keys.

create table accounts (
  id text primary key,
  name text not null,
  email text,
  verified boolean not null,
  status text not null check (status in ('active', 'suspended')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- why it has the status that it has, and since when; null: since it was created
  status_reason text,
  status_changed_at timestamptz,
  -- below it the account is told; null: the configuration's
  low_balance_nano bigint check (low_balance_nano >= 0),
  -- whether keys of members read the balance of the account; where not, they read what their own budgets leave
  members_see_balance boolean not null default true
);

-- By the whole name or e-mail address, as command lines name them.
create index accounts_by_name on accounts (name);
create index accounts_by_email on accounts (email) where email is not null;

-- Accounts that were created with an Idempotency-Key: a repeat makes no second one, nor a second first top-up.
create table account_requests (
  idempotency_key text primary key,
  -- what was asked for: the same key with anything else is a conflict
  request text not null,
  account_id text not null,
  created_at timestamptz not null
);

-- Only the SHA-256 of a key is stored; prefix is what lists show of it.
create table api_keys (
  account_id text not null references accounts (id),
  id text not null,
  name text not null,
  key_hash bytea not null,
  prefix text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  -- what it may be used for, and from where; null: not limited
  allowed_models text[],
  allowed_networks text[],
  -- calls, or the account API
  scopes text[] not null default '{calls}' check (scopes <@ '{calls,account}' and cardinality(scopes) > 0),
  -- the person whose key it is; null: the account's
  user_id text,
  primary key (account_id, id)
);

create unique index api_keys_by_hash on api_keys (key_hash);
create unique index api_keys_by_id on api_keys (id);
-- By what lists show of them, in the order of bytes, so that a beginning is a range.
create index api_keys_by_prefix on api_keys (prefix collate "C");
create index api_keys_by_user on api_keys (account_id, user_id, id) where user_id is not null;
create index api_keys_by_expiry on api_keys (expires_at, id) where expires_at is not null and revoked_at is null;

-- home: partition

-- When a key was used last, as far as its nodes have said so: once a minute, behind its calls. A table of its own, because a row
-- of api_keys that changes behind the cut of an export would be left out of it.
create table key_uses (
  account_id text not null,
  key_id text not null,
  last_used_at timestamptz not null,
  primary key (account_id, key_id)
) with (fillfactor = 70);

-- Money.

-- One row an account, changed by every admission and settlement.
create table balances (
  account_id text primary key,
  balance_nano bigint not null default 0,
  reserved_nano bigint not null default 0 constraint balances_held_nano_check check (reserved_nano >= 0),
  -- null: the configuration's cap
  daily_cap_nano bigint check (daily_cap_nano >= 0),
  -- what was charged on the day that began at day_began_at
  spent_nano bigint not null default 0,
  last_entry_no bigint not null default 0,
  -- what the account pays of the list price, in basis points: 10000 is the list price
  price_factor_basis_points int not null default 10000 check (price_factor_basis_points between 0 and 100000),
  -- what owners of the account let it spend in a day, below the cap of the operator; null: no cap of theirs
  own_daily_cap_nano bigint check (own_daily_cap_nano >= 0),
  -- What is counted of a day, a week, a month or a period is counted since an instant: the beginning of it by the terms that were
  -- in force then (docs/decisions/0010-plan-windows.md). With the number of how many were begun it names what a counter counts.
  day_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  day_no bigint not null default 0,
  -- what had been counted that no record says, as JSON; null: nothing
  counted_before jsonb
) with (fillfactor = 50);

-- Every change of a balance, numbered from 1 in each account without gaps. No foreign key to accounts: every statement that writes
-- it starts from the account's locked row in balances, and with the check a batch of 64 calls took a fifth longer.
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
  -- of a charge: the day in which the account counts it as spent; null: counted_before of the account has it
  day_no bigint,
  day_began_at timestamptz,
  -- the budgets of the key that count it, as JSON; null: none does
  counted_key jsonb,
  primary key (account_id, entry_no),
  -- a charge and a refund are those of a call
  constraint ledger_entries_call_check check ((kind in ('charge', 'refund')) = (call_id is not null))
);

create unique index ledger_one_charge_a_call on ledger_entries (account_id, call_id) where kind = 'charge';
create unique index ledger_by_idempotency_key on ledger_entries (account_id, idempotency_key)
  where idempotency_key is not null;
create index ledger_refunds_by_call on ledger_entries (account_id, call_id) where kind = 'refund';
-- Entries of a statement of account, beside the many charges.
create index ledger_entries_beside_charges on ledger_entries (account_id, created_at) where kind <> 'charge';
-- Entries of vouchers, for the audit. Clients can send no key with a blank.
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

-- Price lists of call records, each stored once. The id is made of the content, so a node that knows a list knows its id.
create table price_lists (
  id uuid primary key,
  -- unit prices in nano-yuan, as text in JSON
  prices jsonb not null
);

-- What became of each call. Partitioned by month of admission; retention drops partitions.
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
  -- that of the provider, or the gateway's
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
  -- the prices in force at admission where the record is older than price_list, unit prices in nano-yuan as text in JSON
  prices jsonb,
  -- null: nothing was charged
  charge_nano bigint,
  -- what images and rerank calls are charged by, beside the tokens of text
  image_input_tokens bigint not null default 0,
  image_output_tokens bigint not null default 0,
  images bigint not null default 0,
  search_units bigint not null default 0,
  -- the routes that the call was sent over in vain before another one took it, as a JSON list; null where there were none
  failed_routes jsonb,
  -- what an unresolved call had reserved, which is the most that it may have cost; null for every other call, and on a plan
  reserved_nano bigint,
  -- what a charge does not say by itself, as a JSON object; null where there is nothing to say
  notes jsonb,
  -- usage units that few calls have, by their names; null where there are none
  other_units jsonb,
  -- the prices in force when the call was admitted; null where the call is unresolved
  price_list uuid,
  -- that of the account when the call was admitted; null: the list price
  price_factor_basis_points int,
  -- what the call cost the operator, by the cost of the route that served it; null where that is not known
  cost_nano bigint,
  -- whether the record was queued when it became final; null: it is unresolved, or an import brought it, and is not queued
  is_queued boolean,
  -- what the client calls its request; null where it did not say
  client_request_id text,
  -- what the call counts for in windows, quotas and calls of a day, as JSON; null: nothing, or counted_before has it
  counted jsonb,
  primary key (account_id, id, started_at)
) partition by range (started_at);

create index calls_by_id on calls (id);
-- By the client's own id, and by the provider's. Bloom filters over ranges of pages: the ids of providers come in no order, and a
-- B-tree would make the end of a call dearer.
create index calls_by_request on calls using brin (request_id text_bloom_ops, client_request_id text_bloom_ops)
  with (autosummarize = on);

-- Catches what no month has been prepared for; empty in ordinary life.
create table calls_default partition of calls default;

-- By their status, newest first, without those that nearly all calls are.
create index calls_by_status on only calls (status, id) where status <> 'succeeded';
create index calls_default_by_status on calls_default (status, id) where status <> 'succeeded';
alter index calls_by_status attach partition calls_default_by_status;

-- Plans: what an account is entitled to, and what of it is used.

-- A subscription and its counters in one row, which every admission and end of a coding call locks.
create table subscriptions (
  account_id text not null,
  id text not null,
  plan_id text not null,
  -- the anchor of weeks and periods; renewal moves ends_at only
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  canceled_at timestamptz,
  created_at timestamptz not null,
  -- rows of this subscription in plan_slots; those that are older than five hours count until they are deleted
  slots bigint not null default 0 check (slots >= 0),
  -- how many weeks and periods were begun, and what is counted of the last ones; reservations name the numbers
  week_no bigint not null default 0,
  week_calls bigint not null default 0 check (week_calls >= 0),
  period_no bigint not null default 0,
  period_tokens bigint not null default 0 check (period_tokens >= 0),
  in_flight bigint not null default 0 check (in_flight >= 0),
  -- what calls in flight may use of the tokens of the period
  period_reserved_tokens bigint not null default 0
    constraint subscriptions_period_held_tokens_check check (period_reserved_tokens >= 0),
  week_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  period_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  -- how many records of calls count here; each has its number
  use_no bigint not null default 0,
  -- what had been counted that no record says, as JSON; null: nothing
  counted_before jsonb,
  primary key (account_id, id),
  check (starts_at < ends_at)
) with (fillfactor = 50);

create unique index subscriptions_by_id on subscriptions (id);
-- How many subscriptions of a plan are active.
create index subscriptions_by_plan on subscriptions (plan_id, ends_at) where canceled_at is null;

-- Grants and renewals that came with an Idempotency-Key: a repeat changes nothing.
create table subscription_requests (
  account_id text not null,
  idempotency_key text not null,
  -- what was asked for: the same key with anything else is a conflict
  request text not null,
  subscription_id text not null,
  created_at timestamptz not null,
  primary key (account_id, idempotency_key)
);

-- One row a call that counts in the five-hour window.
create table plan_slots (
  account_id text not null,
  subscription_id text not null,
  call_id text not null,
  taken_at timestamptz not null,
  primary key (account_id, call_id)
);

create index plan_slots_by_time on plan_slots (account_id, subscription_id, taken_at);

-- What single keys of an account may use, where that is limited, and what of it is used.
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
  -- of the week (from Monday) and the month that began then, and since the key has limits
  week_spent_nano bigint not null default 0,
  month_spent_nano bigint not null default 0,
  total_spent_nano bigint not null default 0,
  day_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  week_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  month_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  -- how many were begun: reservations name the day in which they were counted
  day_no bigint not null default 0,
  week_no bigint not null default 0,
  month_no bigint not null default 0,
  -- how many records of calls count here; each has its number
  use_no bigint not null default 0,
  -- what had been counted that no record says, as JSON: by the key that this one replaced, too; null: nothing
  counted_before jsonb,
  primary key (account_id, key_id)
) with (fillfactor = 50);

-- Requests and tokens a minute, of an account or one of its keys, for all models or for one, and what of them is used. A
-- row without limits of its own counts what the configuration limits.
create table rate_limits (
  account_id text not null,
  -- '': of the account
  key_id text not null,
  -- '': of all models together
  model text not null,
  -- null: not limited
  requests_max bigint check (requests_max > 0),
  tokens_max bigint check (tokens_max > 0),
  -- what was used at counted_at, in 60,000ths: a limit of n a minute frees n of these in a millisecond
  counted_at timestamptz not null default '1970-01-01T00:00:00Z',
  requests_used bigint not null default 0 check (requests_used >= 0),
  tokens_used bigint not null default 0 check (tokens_used >= 0),
  primary key (account_id, key_id, model)
) with (fillfactor = 50);

-- One reservation a call: what it may use from its admission to its end, whatever limits it. No foreign key, as ledger_entries.
create table reservations (
  account_id text not null,
  call_id text not null,
  key_id text not null,
  model text not null,
  node_id text not null,
  reserved_at timestamptz not null,
  -- what is known of a call when it is admitted, as a list in JSON; text, because it is read only where a node died
  facts text not null,
  -- of the balance; null on a Coding Plan
  amount_nano bigint check (amount_nano >= 0),
  -- of a Coding Plan; null on the balance
  subscription_id text,
  week_no bigint,
  period_no bigint,
  tokens bigint check (tokens >= 0),
  -- of the limits of the key; null where it has none
  key_amount_nano bigint check (key_amount_nano >= 0),
  -- the tokens that it took of limits by the minute when it was admitted; null where it took none
  rate_tokens bigint check (rate_tokens >= 0),
  -- the day of the key in which it is counted; null where the key has no limits
  key_day_no bigint,
  -- the fill of the buckets of a minute behind the call, by which its end knows what of its tokens has not drained; null where it took none
  rate_fills text,
  primary key (account_id, call_id)
);

-- Responses that are stored for repeats of calls with an Idempotency-Key. A row is claimed before the call and filled before the
-- call is settled; it is valid from the transaction on that settles it. Keys are hashes. Rows are dropped when they expire.
create table stored_responses (
  account_id text not null,
  key_id text not null,
  idempotency_key text not null,
  -- of the request: another one must not get this response
  fingerprint text not null,
  -- of the call that runs, or ran; whoever finds a claim left by a dead node replaces it
  claim_id text not null,
  -- until when the node that runs the call is taken to be alive
  claimed_until timestamptz not null,
  expires_at timestamptz not null,
  -- status and headers, or the error; null until the response is known
  head jsonb,
  -- null for an error, and for a response that is too large to be stored
  body bytea,
  is_valid boolean not null default false,
  constraint kept_answers_pkey primary key (account_id, key_id, idempotency_key)
);

create index stored_responses_by_expiry on stored_responses (expires_at);
create unique index stored_responses_by_claim on stored_responses (account_id, claim_id);

-- What a later call may refer to: state at a provider, and the provider that made it. Keys are hashes. Rows are dropped when they
-- are older than any provider keeps its own.
create table continuation_keys (
  account_id text not null,
  key text not null,
  model text not null,
  provider text not null,
  made_at timestamptz not null,
  -- the size of a response: what a call that continues it reads; null: not known
  total_tokens bigint,
  constraint affinities_pkey primary key (account_id, key)
);

create index continuation_keys_by_age on continuation_keys (made_at);

-- home: directory

-- What takes no new calls until it is resumed: a provider, a model at a provider, or one route. The empty text stands for all:
-- it is part of the key, and no model has that name.
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

-- Sums of usage by day: made in the background from call records, each of which is counted once
-- (docs/decisions/0033-usage-rollups.md).

-- What is not in the sums yet: a row for the calls of a batch, written with their records, or for a refund. A row is deleted by
-- the transaction that adds it to the sums.
create table usage_queue (
  queued_at timestamptz not null default now(),
  account_ids text[] not null,
  call_ids text[] not null,
  started_ats timestamptz[] not null,
  -- of a refund of the one call that the row names; null: the calls themselves
  entry_no bigint
);
-- Compressing them would cost the ends of calls more than it saves.
alter table usage_queue alter column account_ids set storage external;
alter table usage_queue alter column call_ids set storage external;
alter table usage_queue alter column started_ats set storage external;

-- A record of an unresolved call that becomes final, by whichever statement, is queued with that.
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

-- Which records that were not queued are in the sums: those up to this id.
create table usage_backfill (
  is_only boolean primary key default true check (is_only),
  last_call_id text not null default '',
  is_done boolean not null default false
);
insert into usage_backfill default values;

-- Final calls and refunds of an account in a day of the billing time zone.
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
  -- calls with usage whose cost is not known
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

-- The same sums over all accounts, so that questions about all of them read few rows.
create table usage_totals (like usage_rollups including constraints) with (fillfactor = 50);
alter table usage_totals drop column account_id, drop column key_id;
alter table usage_totals add primary key (day, model, provider, status, context);

-- home: directory

-- People who sign in, what they may do, and the links by which they get in.

create table users (
  id text primary key,
  -- not proven to be the person's: whoever made the user has said so
  email text,
  name text not null,
  -- the e-mail address, or the name where there is none, in the form in which two are the same
  sign_in_name text not null,
  -- argon2id in PHC form; null: there is none yet
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

-- The token is in the person's browser only.
create table sessions (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  token_hash bytea not null,
  created_at timestamptz not null,
  -- at most a minute behind
  last_seen_at timestamptz not null,
  expires_at timestamptz not null,
  client_address text,
  user_agent text
);
create unique index sessions_by_token on sessions (token_hash);
create index sessions_by_user on sessions (user_id, id);
create index sessions_by_end on sessions (expires_at);

-- Links that work once. Those of a user set its password; an invitation makes a user, or a member of one.
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
  -- the person who has made the link, which works for as long as that person may make it; null: no person has
  created_by_user_id text,
  check ((kind = 'invitation') = (user_id is null)),
  check ((kind = 'invitation') = (account_id is not null and role is not null))
);
create unique index user_links_by_token on user_links (token_hash);
create index user_links_by_user on user_links (user_id) where user_id is not null;
create index user_links_by_account on user_links (account_id, id) where account_id is not null;
create index user_links_by_end on user_links (expires_at);

-- Who people are at OpenID providers, and the sign-ins there that are under way.
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

-- The browser has the secret in a cookie. A row is deleted by the first use.
create table oidc_flows (
  handle_hash bytea primary key,
  provider text not null,
  -- the one-time link that is used by it
  link_token_hash bytea,
  -- the person who has signed in, and adds this way to sign in
  attach_to_user_id text references users (id) on delete cascade,
  return_to text not null,
  expires_at timestamptz not null
);
create index oidc_flows_by_end on oidc_flows (expires_at);
create index oidc_flows_by_user on oidc_flows (attach_to_user_id) where attach_to_user_id is not null;

-- Named tokens of the admin API, for programs and people, beside the token of the environment.
create table admin_tokens (
  id text primary key,
  name text not null,
  role text not null check (role in ('operator', 'auditor')),
  -- the SHA-256 of the text, which is stored nowhere
  token_hash bytea not null,
  -- what lists show of the text
  prefix text not null,
  created_at timestamptz not null,
  -- what whoever made it was called then
  created_by text not null,
  -- null: it never expires
  expires_at timestamptz,
  revoked_at timestamptz,
  -- written behind requests, at most once a minute
  last_used_at timestamptz
);
create unique index admin_tokens_by_hash on admin_tokens (token_hash);
create unique index admin_tokens_by_name on admin_tokens (name) where revoked_at is null;

-- The change log: who has changed what, from where, and when. Rows are written before a change is made and once more when it has
-- ended; nothing else changes them, and after their time they are deleted.
create table changes (
  -- ids sort by time, so the oldest come first
  id text primary key,
  begun_at timestamptz not null,
  ended_at timestamptz,
  -- begun: nothing more is known
  outcome text not null check (outcome in ('begun', 'done', 'failed')),
  actor_kind text not null,
  actor_id text,
  actor_name text not null,
  session_id text,
  -- who the operating system says is at the command line
  local_user text,
  -- null: there was no request
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

-- Requests that were refused.
create table refusals (
  -- the request id, or an id like it for a count; ids sort by time, so the oldest come first
  id text primary key,
  at timestamptz not null,
  -- how many refusals of that minute, account and code the row stands for
  count bigint not null check (count > 0),
  -- null: it is not known whose key it was
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
-- Those of the keys of one person, who sees no others.
create index refusals_by_key on refusals (key_id, id) where key_id is not null;

-- home: partition

-- What accounts and operators are told of, and who was told (docs/decisions/0040-notices.md).

-- Accounts whose money or plan has changed: written in the background by the job that sums usage, and with every entry that is no
-- charge. A row is deleted by the transaction that looks at its accounts. Short, read from its start, without an index.
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

-- What was said of an account and is still so: a balance that is low, the share of a plan's quota that is used. Without a row
-- nothing was said.
create table notice_states (
  account_id text not null,
  subject text not null,
  -- the period that the level is of; empty where there are none
  occurrence text not null,
  level bigint not null,
  primary key (account_id, subject)
);

-- home: directory

-- Where signed notices are sent to.
create table webhook_endpoints (
  id text primary key,
  -- null: of the operators, for all accounts
  account_id text references accounts (id),
  url text not null,
  -- signs, so it is stored as it is
  secret text not null,
  -- null: all
  events text[],
  status text not null check (status in ('active', 'disabled')),
  status_reason text,
  -- since when each attempt has failed; null: the last one succeeded, or there was none
  failing_since timestamptz,
  -- of the request that made it: its repeat makes no other one
  idempotency_key text,
  created_at timestamptz not null
);
create unique index webhook_endpoints_by_idempotency_key on webhook_endpoints (coalesce(account_id, ''), idempotency_key)
  where idempotency_key is not null;
create index webhook_endpoints_by_account on webhook_endpoints (account_id, id);

create table notices (
  id text primary key,
  kind text not null,
  -- null: of the operators alone
  account_id text,
  -- what it is about, within its kind
  subject text not null,
  -- the occurrence: there is one notice of each
  dedupe_key text not null,
  data jsonb not null,
  at timestamptz not null
);
create unique index notices_by_dedupe_key on notices (dedupe_key);
create index notices_by_subject on notices (kind, subject, at);

-- A notice for a receiver: the id of an endpoint, or mail: and an address.
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

-- A receiver for which something is pending: one node at a time sends to it, one notice after the other.
create table notice_receivers (
  receiver text primary key,
  channel text not null,
  next_at timestamptz not null,
  -- attempts in a row that failed
  failures bigint not null default 0,
  lease_id text,
  leased_until timestamptz
) with (fillfactor = 70);
create index notice_receivers_due on notice_receivers (channel, next_at);

-- Up to where keys that expire were looked for, by the days that were left.
create table key_expiry_progress (
  days_left bigint primary key,
  expires_at timestamptz not null,
  key_id text not null
);

-- What was sent lately to an address, for an account, to the endpoints of an account: until when the debt of each is repaid. One row
-- a subject, which is deleted when it owes nothing any more.
create table send_rates (
  subject text primary key,
  repaid_at timestamptz not null
);
create index send_rates_by_repaid_at on send_rates (repaid_at);

-- Codes that operators give out and members of accounts redeem, each once: a value in yuan, or a period of a plan.

create table voucher_batches (
  id text primary key,
  name text not null,
  -- what each voucher adds to a balance; null: it grants a plan
  amount_nano bigint check (amount_nano > 0),
  plan_id text,
  voucher_count bigint not null check (voucher_count > 0),
  -- null: they never expire
  expires_at timestamptz,
  created_at timestamptz not null,
  -- what whoever made it was called then
  created_by text not null,
  -- vouchers that were redeemed before stay so
  canceled_at timestamptz,
  -- null: the creation had none
  idempotency_key text,
  check ((amount_nano is null) <> (plan_id is null))
);
create unique index voucher_batches_by_key on voucher_batches (idempotency_key) where idempotency_key is not null;

-- Never changed: what became of a voucher is a row of voucher_redemptions, which belongs to the account, so that an export has
-- it where it has the entry. No reference to the batch, because an export reads the two at different times.
create table vouchers (
  -- the SHA-256 of the code, which is stored nowhere
  code_hash bytea primary key,
  batch_id text not null,
  -- what support sees of the code
  code_end text not null
);

create table voucher_redemptions (
  code_hash bytea primary key,
  id text not null,
  batch_id text not null,
  code_end text not null,
  account_id text not null references accounts (id),
  redeemed_at timestamptz not null,
  -- what whoever did it was called then
  redeemed_by text not null,
  -- the ledger entry of a value, the subscription of a plan
  entry_no bigint,
  subscription_id text,
  check ((entry_no is null) <> (subscription_id is null))
);
create index voucher_redemptions_by_account on voucher_redemptions (account_id, code_hash);
create unique index voucher_redemptions_by_batch on voucher_redemptions (batch_id, id);

-- Processes that share the database. Only the database's clock says who was heard when: the calls of a node that is not heard any
-- more are taken over by another one, and recorded as calls that nobody knows the end of.
create table nodes (
  id text primary key,
  started_at timestamptz not null,
  seen_at timestamptz not null
) with (fillfactor = 50);

-- Tells this database from others: what a node keeps on its own disk for it must never get into another one.
create table database_identity (
  id text primary key,
  -- whether the demo made this database, whose balances nobody has paid; null: no gateway has served it
  is_demo boolean
);

insert into database_identity (id) values (gen_random_uuid()::text);
