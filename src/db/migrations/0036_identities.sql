-- Who people are at OpenID providers, and the sign-ins there that are under way.

create table user_identities (
  id text primary key,
  issuer text not null,
  subject text not null,
  user_id text not null references users (id) on delete cascade,
  created_at timestamptz not null,
  last_used_at timestamptz,
  unique (issuer, subject)
);
create index user_identities_by_user on user_identities (user_id, id);

-- The browser has the secret in a cookie. A row is deleted by the first use.
create table oidc_flows (
  handle_hash bytea primary key,
  provider text not null,
  -- the one-time link that is used by it
  link_token_hash bytea,
  -- the person who has signed in, and adds this way to sign in
  attach_to_user_id text references users (id) on delete cascade,
  return_to text not null,
  expires_at timestamptz not null
);
create index oidc_flows_by_end on oidc_flows (expires_at);
create index oidc_flows_by_user on oidc_flows (attach_to_user_id) where attach_to_user_id is not null;
