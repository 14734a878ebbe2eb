-- People who sign in, what they may do, and the links by which they get in.

create table users (
  id text primary key,
  -- not proven to be the person's: whoever made the user has said so
  email text,
  name text not null,
  -- the e-mail address, or the name where there is none, in the form in which two are the same
  sign_in_name text not null,
  -- argon2id in PHC form; null: there is none yet
  password_hash text,
  operator_role text check (operator_role in ('operator', 'auditor')),
  status text not null check (status in ('active', 'suspended')),
  created_at timestamptz not null,
  last_sign_in_at timestamptz
);
create unique index users_by_sign_in_name on users (sign_in_name);
create index users_by_operator_role on users (operator_role, id) where operator_role is not null;

create table memberships (
  user_id text not null references users (id) on delete cascade,
  account_id text not null references accounts (id),
  role text not null check (role in ('owner', 'member')),
  created_at timestamptz not null,
  primary key (user_id, account_id)
);
create index memberships_by_account on memberships (account_id, user_id);

-- The token is in the person's browser only.
create table sessions (
  id text primary key,
  user_id text not null references users (id) on delete cascade,
  token_hash bytea not null,
  created_at timestamptz not null,
  -- at most a minute behind
  last_seen_at timestamptz not null,
  expires_at timestamptz not null,
  client_address text,
  user_agent text
);
create unique index sessions_by_token on sessions (token_hash);
create index sessions_by_user on sessions (user_id, id);
create index sessions_by_end on sessions (expires_at);

-- Links that work once. Those of a user set its password; an invitation makes a user, or a member of one.
create table user_links (
  id text primary key,
  token_hash bytea not null,
  kind text not null check (kind in ('first_sign_in', 'invitation', 'reset')),
  user_id text references users (id) on delete cascade,
  email text,
  account_id text references accounts (id),
  role text check (role in ('owner', 'member')),
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  check ((kind = 'invitation') = (user_id is null)),
  check ((kind = 'invitation') = (account_id is not null and role is not null))
);
create unique index user_links_by_token on user_links (token_hash);
create index user_links_by_user on user_links (user_id) where user_id is not null;
create index user_links_by_account on user_links (account_id, id) where account_id is not null;
create index user_links_by_end on user_links (expires_at);
