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
  status text not null check (status in ('succeeded', 'failed', 'aborted', 'unresolved')),
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
  -- unit prices in force at admission, nano-yuan per million tokens, as text in JSON
  prices jsonb not null,
  -- null: nothing was charged
  charge_nano bigint,
  primary key (account_id, id, started_at)
) partition by range (started_at);

create index calls_by_id on calls (id);

-- Catches what no month has been prepared for; empty in ordinary life.
create table calls_default partition of calls default;
