-- Named tokens of the admin API, for programs and people, beside the token of the environment.

create table admin_tokens (
  id text primary key,
  name text not null,
  role text not null check (role in ('operator', 'auditor')),
  -- the SHA-256 of the text, which is stored nowhere
  token_hash bytea not null,
  -- what lists show of the text
  prefix text not null,
  created_at timestamptz not null,
  -- what whoever made it was called then
  created_by text not null,
  -- null: it never expires
  expires_at timestamptz,
  revoked_at timestamptz,
  -- written behind requests, at most once a minute
  last_used_at timestamptz
);
create unique index admin_tokens_by_hash on admin_tokens (token_hash);
create unique index admin_tokens_by_name on admin_tokens (name) where revoked_at is null;
