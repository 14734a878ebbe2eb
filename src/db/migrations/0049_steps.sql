-- What concerns both homes is done in steps, each a transaction of one of them (docs/decisions/0062-keys-and-notices.md). A step
-- that is left undone is found by what stands here.

-- home: directory

-- Keys that are not there, yet or any more, of which the partition of their account may have limits and uses.
create table loose_keys (
  account_id text not null references accounts (id),
  key_id text not null,
  -- whether it is being made: it may become a key
  is_begun boolean not null,
  -- whose limits it takes over; null: of none
  replaced_id text,
  since timestamptz not null,
  primary key (account_id, key_id)
);
create index loose_keys_by_time on loose_keys (since, key_id);

-- home: partition

-- Notices that are due, until the directory has them: written with what has been said of the account from then on.
create table due_notices (
  account_id text not null,
  -- names the occurrence
  dedupe_key text not null,
  kind text not null,
  subject text not null,
  data jsonb not null,
  due_at timestamptz not null,
  primary key (account_id, dedupe_key)
);
create index due_notices_by_time on due_notices (due_at, dedupe_key);

-- home: directory

-- When a threshold of its own was set for an account that has not been looked at since; null: it has been.
alter table accounts add column low_balance_set_at timestamptz;
create index accounts_by_new_threshold on accounts (low_balance_set_at, id) where low_balance_set_at is not null;
