-- What housekeeping needs to forget keys and people that nothing refers to any more.

-- home: directory

-- Keys in the order in which they end.
create index api_keys_by_end on api_keys (least(revoked_at, expires_at), id)
  where revoked_at is not null or expires_at is not null;

-- home: partition

-- Whether a key has calls. Rows that a sum is added to do not touch it.
create index usage_rollups_by_key on usage_rollups (account_id, key_id);

-- home: directory

-- Up to which key those that have ended were looked at: each is once.
create table ended_keys_progress (
  is_only boolean primary key default true check (is_only),
  ended_at timestamptz not null default '1970-01-01T00:00:00Z',
  key_id text not null default ''
);
insert into ended_keys_progress default values;

-- Since when a person is in no account, after having been in one; null: in one, or never in any, or it left before this column was.
alter table users add column left_at timestamptz;
create index users_by_leaving on users (left_at, id) where left_at is not null;

-- Keys of persons that may be used still.
create index api_keys_by_person on api_keys (user_id) where user_id is not null and revoked_at is null;
