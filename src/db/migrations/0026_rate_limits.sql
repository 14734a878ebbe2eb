-- Requests and tokens a minute, of an account or one of its keys, for all models or for one, and what of them is used. A
-- row without limits of its own counts what the configuration limits.
create table rate_limits (
  account_id text not null references accounts (id),
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

-- The tokens that a call took of these limits when it was admitted; null where it took none.
alter table reservations add column rate_tokens bigint check (rate_tokens >= 0);
