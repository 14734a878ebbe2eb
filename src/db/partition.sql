-- The tables of a partition, with their triggers, functions, indexes and first rows, as all steps of the schema together have made them in the
-- schema of the directory. Columns are explained where the steps make them (migrations/). Whoever writes a step for partitions changes this
-- file, too: test/db/partitions.test.ts compares the two.
--
-- No name has a schema: all of them are in that of the connection. No foreign key goes out of it, and no block makes tables.

create table key_uses (
  account_id text not null,
  key_id text not null,
  last_used_at timestamptz not null,
  primary key (account_id, key_id)
) with (fillfactor = 70);

create table balances (
  account_id text primary key,
  balance_nano bigint not null default 0,
  reserved_nano bigint not null default 0 constraint balances_held_nano_check check (reserved_nano >= 0),
  daily_cap_nano bigint check (daily_cap_nano >= 0),
  spent_nano bigint not null default 0,
  last_entry_no bigint not null default 0,
  price_factor_basis_points int not null default 10000 check (price_factor_basis_points between 0 and 100000),
  own_daily_cap_nano bigint check (own_daily_cap_nano >= 0),
  day_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  day_no bigint not null default 0,
  counted_before jsonb
) with (fillfactor = 50);

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
  day_no bigint,
  day_began_at timestamptz,
  counted_key jsonb,
  primary key (account_id, entry_no),
  constraint ledger_entries_call_check check ((kind in ('charge', 'refund')) = (call_id is not null))
);

create unique index ledger_one_charge_a_call on ledger_entries (account_id, call_id) where kind = 'charge';
create unique index ledger_by_idempotency_key on ledger_entries (account_id, idempotency_key)
  where idempotency_key is not null;
create index ledger_refunds_by_call on ledger_entries (account_id, call_id) where kind = 'refund';
create index ledger_entries_beside_charges on ledger_entries (account_id, created_at) where kind <> 'charge';
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

create table price_lists (
  id uuid primary key,
  prices jsonb not null
);

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
  prices jsonb,
  charge_nano bigint,
  image_input_tokens bigint not null default 0,
  image_output_tokens bigint not null default 0,
  images bigint not null default 0,
  search_units bigint not null default 0,
  failed_routes jsonb,
  reserved_nano bigint,
  notes jsonb,
  other_units jsonb,
  price_list uuid,
  price_factor_basis_points int,
  cost_nano bigint,
  is_queued boolean,
  client_request_id text,
  counted jsonb,
  primary key (account_id, id, started_at)
) partition by range (started_at);

create index calls_by_id on calls (id);
create index calls_by_request on calls using brin (request_id text_bloom_ops, client_request_id text_bloom_ops)
  with (autosummarize = on);

create table calls_default partition of calls default;

create index calls_by_status on only calls (status, id) where status <> 'succeeded';
create index calls_default_by_status on calls_default (status, id) where status <> 'succeeded';
alter index calls_by_status attach partition calls_default_by_status;

create table subscriptions (
  account_id text not null,
  id text not null,
  plan_id text not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  canceled_at timestamptz,
  created_at timestamptz not null,
  slots bigint not null default 0 check (slots >= 0),
  week_no bigint not null default 0,
  week_calls bigint not null default 0 check (week_calls >= 0),
  period_no bigint not null default 0,
  period_tokens bigint not null default 0 check (period_tokens >= 0),
  in_flight bigint not null default 0 check (in_flight >= 0),
  period_reserved_tokens bigint not null default 0
    constraint subscriptions_period_held_tokens_check check (period_reserved_tokens >= 0),
  week_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  period_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  use_no bigint not null default 0,
  counted_before jsonb,
  primary key (account_id, id),
  check (starts_at < ends_at)
) with (fillfactor = 50);

create unique index subscriptions_by_id on subscriptions (id);
create index subscriptions_by_plan on subscriptions (plan_id, ends_at) where canceled_at is null;

create table subscription_requests (
  account_id text not null,
  idempotency_key text not null,
  request text not null,
  subscription_id text not null,
  created_at timestamptz not null,
  primary key (account_id, idempotency_key)
);

create table plan_periods (
  account_id text not null,
  subscription_id text not null,
  starts_at timestamptz not null,
  first_day date not null,
  days int not null check (days > 0),
  price_nano bigint not null check (price_nano >= 0),
  primary key (account_id, subscription_id, starts_at)
);
create index plan_periods_by_end on plan_periods ((first_day + days));

create table plan_slots (
  account_id text not null,
  subscription_id text not null,
  call_id text not null,
  taken_at timestamptz not null,
  primary key (account_id, call_id)
);

create index plan_slots_by_time on plan_slots (account_id, subscription_id, taken_at);

create table key_limits (
  account_id text not null,
  key_id text not null,
  daily_spend_cap_nano bigint check (daily_spend_cap_nano >= 0),
  daily_calls_max bigint check (daily_calls_max >= 0),
  concurrency_max bigint check (concurrency_max >= 0),
  spent_nano bigint not null default 0,
  calls bigint not null default 0 check (calls >= 0),
  reserved_nano bigint not null default 0 constraint key_limits_held_nano_check check (reserved_nano >= 0),
  in_flight bigint not null default 0 check (in_flight >= 0),
  weekly_spend_cap_nano bigint check (weekly_spend_cap_nano >= 0),
  monthly_spend_cap_nano bigint check (monthly_spend_cap_nano >= 0),
  total_spend_cap_nano bigint check (total_spend_cap_nano >= 0),
  week_spent_nano bigint not null default 0,
  month_spent_nano bigint not null default 0,
  total_spent_nano bigint not null default 0,
  day_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  week_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  month_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  day_no bigint not null default 0,
  week_no bigint not null default 0,
  month_no bigint not null default 0,
  use_no bigint not null default 0,
  counted_before jsonb,
  allowed_models text[],
  primary key (account_id, key_id)
) with (fillfactor = 50);

create table rate_limits (
  account_id text not null,
  key_id text not null,
  model text not null,
  requests_max bigint check (requests_max > 0),
  tokens_max bigint check (tokens_max > 0),
  counted_at timestamptz not null default '1970-01-01T00:00:00Z',
  requests_used bigint not null default 0 check (requests_used >= 0),
  tokens_used bigint not null default 0 check (tokens_used >= 0),
  primary key (account_id, key_id, model)
) with (fillfactor = 50);

create table route_hours (
  hour timestamptz not null,
  model text not null,
  provider text not null,
  provider_model text not null,
  attempts bigint not null,
  errors bigint not null,
  refused bigint not null,
  durations bigint[] not null,
  first_bytes bigint[] not null,
  output_tokens bigint not null,
  generation_ms bigint not null,
  primary key (hour, model, provider, provider_model)
);

create table reservations (
  account_id text not null,
  call_id text not null,
  key_id text not null,
  model text not null,
  node_id text not null,
  reserved_at timestamptz not null,
  facts text not null,
  amount_nano bigint check (amount_nano >= 0),
  subscription_id text,
  week_no bigint,
  period_no bigint,
  tokens bigint check (tokens >= 0),
  key_amount_nano bigint check (key_amount_nano >= 0),
  rate_tokens bigint check (rate_tokens >= 0),
  key_day_no bigint,
  rate_fills text,
  member_id text,
  member_day_no bigint,
  primary key (account_id, call_id)
);

create table stored_responses (
  account_id text not null,
  key_id text not null,
  idempotency_key text not null,
  fingerprint text not null,
  claim_id text not null,
  claimed_until timestamptz not null,
  expires_at timestamptz not null,
  head jsonb,
  body bytea,
  is_valid boolean not null default false,
  constraint kept_answers_pkey primary key (account_id, key_id, idempotency_key)
);

create index stored_responses_by_expiry on stored_responses (expires_at);
create unique index stored_responses_by_claim on stored_responses (account_id, claim_id);

create table continuation_keys (
  account_id text not null,
  key text not null,
  model text not null,
  provider text not null,
  made_at timestamptz not null,
  total_tokens bigint,
  constraint affinities_pkey primary key (account_id, key)
);

create index continuation_keys_by_age on continuation_keys (made_at);

create table usage_queue (
  queued_at timestamptz not null default now(),
  account_ids text[] not null,
  call_ids text[] not null,
  started_ats timestamptz[] not null,
  entry_no bigint
);
alter table usage_queue alter column account_ids set storage external;
alter table usage_queue alter column call_ids set storage external;
alter table usage_queue alter column started_ats set storage external;

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

create table usage_backfill (
  is_only boolean primary key default true check (is_only),
  last_call_id text not null default '',
  is_done boolean not null default false
);
insert into usage_backfill default values;

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

create table usage_totals (like usage_rollups including constraints) with (fillfactor = 50);
alter table usage_totals drop column account_id, drop column key_id;
alter table usage_totals add primary key (day, model, provider, status, context);

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

create table notice_states (
  account_id text not null,
  subject text not null,
  occurrence text not null,
  level bigint not null,
  primary key (account_id, subject)
);

create index usage_rollups_by_key on usage_rollups (account_id, key_id);

create function month_of_call(id text) returns date language sql immutable parallel safe as $body$
  select date_trunc('month', to_timestamp((
    ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 6, 1)) - 1)::bigint << 45)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 7, 1)) - 1)::bigint << 40)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 8, 1)) - 1)::bigint << 35)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 9, 1)) - 1)::bigint << 30)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 10, 1)) - 1)::bigint << 25)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 11, 1)) - 1)::bigint << 20)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 12, 1)) - 1)::bigint << 15)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 13, 1)) - 1)::bigint << 10)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 14, 1)) - 1)::bigint << 5)
    + (strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 15, 1)) - 1)::bigint
  ) / 1000::double precision) at time zone 'UTC')::date
$body$;

create table dropped_months (
  month date primary key,
  dropped_at timestamptz,
  drops bigint not null default 0,
  run_id text,
  seen_at timestamptz,
  last_account_id text not null default '',
  last_call_id text not null default '',
  is_summed boolean not null default false,
  is_void boolean not null default false,
  unresolved text[] not null default '{}'
);

create table dropped_calls (
  account_id text not null,
  dropped_in date not null,
  month date not null,
  calls bigint not null,
  charged_calls bigint not null,
  charge_nano bigint not null,
  primary key (account_id, dropped_in, month)
);

create table dropped_uses (
  account_id text not null,
  dropped_in date not null,
  owner_id text not null,
  counter text not null,
  place text not null,
  amount bigint not null,
  primary key (account_id, dropped_in, owner_id, counter, place)
);

create table dropped_usage (like usage_rollups including constraints);
alter table dropped_usage add dropped_in date not null;
alter table dropped_usage add primary key (account_id, dropped_in, day, key_id, model, provider, status, context);

create function is_of_dropped_month(at timestamptz) returns boolean language plpgsql stable as $body$
begin
  return exists (select from dropped_months d where d.month = date_trunc('month', at at time zone 'UTC')::date);
end
$body$;

create table refused_redemptions (
  account_id text not null,
  redemption_id text not null,
  refusal text not null,
  refused_at timestamptz not null default clock_timestamp(),
  primary key (account_id, redemption_id)
);

create table due_notices (
  account_id text not null,
  dedupe_key text not null,
  kind text not null,
  subject text not null,
  data jsonb not null,
  due_at timestamptz not null,
  primary key (account_id, dedupe_key)
);
create index due_notices_by_time on due_notices (due_at, dedupe_key);
