-- Grants and renewals that came with an Idempotency-Key: a repeat changes nothing.
create table subscription_requests (
  account_id text not null references accounts (id),
  idempotency_key text not null,
  -- what was asked for: the same key with anything else is a conflict
  request text not null,
  subscription_id text not null,
  created_at timestamptz not null,
  primary key (account_id, idempotency_key)
);
