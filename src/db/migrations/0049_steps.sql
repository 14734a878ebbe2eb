-- Changes of both homes are made in phases, each a transaction of one home (docs/decisions/0062-keys-and-notices.md). These tables record
-- incomplete ones.

-- home: directory

-- Keys that are being created or were deleted, for which the partition of their account may have limits and uses.
create table loose_keys (
  account_id text not null references accounts (id),
  key_id text not null,
  -- whether the key is being created
  is_begun boolean not null,
  -- the key whose limits it takes over; null: none
  replaced_id text,
  since timestamptz not null,
  primary key (account_id, key_id)
);
create index loose_keys_by_time on loose_keys (since, key_id);

-- home: partition

-- Due notices until the directory has them, written together with the notified levels.
create table due_notices (
  account_id text not null,
  -- identifies the occurrence
  dedupe_key text not null,
  kind text not null,
  subject text not null,
  data jsonb not null,
  due_at timestamptz not null,
  primary key (account_id, dedupe_key)
);
create index due_notices_by_time on due_notices (due_at, dedupe_key);

-- home: directory

-- when an account's own threshold was set, until the account was checked; null: checked
alter table accounts add column low_balance_set_at timestamptz;
create index accounts_by_new_threshold on accounts (low_balance_set_at, id) where low_balance_set_at is not null;
