-- Supports the deletion of keys and users that nothing refers to any more.

-- home: directory

-- Keys in the order of their end.
create index api_keys_by_end on api_keys (least(revoked_at, expires_at), id)
  where revoked_at is not null or expires_at is not null;

-- home: partition

-- For checking whether a key has calls. Updates of sums do not touch this index.
create index usage_rollups_by_key on usage_rollups (account_id, key_id);

-- home: directory

-- Progress of the scan of ended keys, each of which is checked once.
create table ended_keys_progress (
  is_only boolean primary key default true check (is_only),
  ended_at timestamptz not null default '1970-01-01T00:00:00Z',
  key_id text not null default ''
);
insert into ended_keys_progress default values;

-- when a user left the last account; null: the user has accounts, never had any, or left before this column existed
alter table users add column left_at timestamptz;
create index users_by_leaving on users (left_at, id) where left_at is not null;

-- Users' keys that may still be valid.
create index api_keys_by_person on api_keys (user_id) where user_id is not null and revoked_at is null;
