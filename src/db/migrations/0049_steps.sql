-- What concerns both homes is done in steps, each a transaction of one of them (docs/decisions/0062-keys-and-notices-in-steps.md). A step
-- that is left undone is found by what stands here.

-- Keys that are not there, yet or any more, of which the partition of their account may have limits and uses.
create table loose_keys (
  account_id text not null references accounts (id),
  key_id text not null,
  -- whether it is being made: it may become a key
  is_begun boolean not null,
  since timestamptz not null,
  primary key (account_id, key_id)
);
create index loose_keys_by_time on loose_keys (since, key_id);
