-- What single keys of an account may use, where that is limited, and what of it is used.
create table key_limits (
  account_id text not null,
  key_id text not null,
  -- null: not limited
  daily_spend_cap_nano bigint check (daily_spend_cap_nano >= 0),
  daily_calls_max bigint check (daily_calls_max >= 0),
  concurrency_max bigint check (concurrency_max >= 0),
  -- the day that spent_nano and calls count (the billing time zone's day)
  day date not null default '1970-01-01',
  spent_nano bigint not null default 0,
  calls bigint not null default 0 check (calls >= 0),
  held_nano bigint not null default 0 check (held_nano >= 0),
  in_flight bigint not null default 0 check (in_flight >= 0),
  primary key (account_id, key_id),
  foreign key (account_id, key_id) references api_keys (account_id, id)
) with (fillfactor = 50);

-- One row a call in flight of a limited key.
create table key_holds (
  account_id text not null,
  call_id text not null,
  key_id text not null,
  amount_nano bigint not null check (amount_nano >= 0),
  day date not null,
  node_id text not null,
  held_at timestamptz not null,
  primary key (account_id, call_id)
);
