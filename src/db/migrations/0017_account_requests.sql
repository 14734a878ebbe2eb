-- Accounts that were created with an Idempotency-Key: a repeat makes no second one, nor a second first top-up.
create table account_requests (
  idempotency_key text primary key,
  -- what was asked for: the same key with anything else is a conflict
  request text not null,
  account_id text not null,
  created_at timestamptz not null
);
