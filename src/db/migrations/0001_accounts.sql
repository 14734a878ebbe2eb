-- Who pays, and with which keys.

create table accounts (
  id text primary key,
  name text not null,
  email text,
  verified boolean not null,
  status text not null check (status in ('active', 'suspended')),
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- Only the SHA-256 of a key is stored; prefix is what lists show of it.
create table api_keys (
  account_id text not null references accounts (id),
  id text not null,
  name text not null,
  key_hash bytea not null,
  prefix text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz,
  primary key (account_id, id)
);

create unique index api_keys_by_hash on api_keys (key_hash);
create unique index api_keys_by_id on api_keys (id);
