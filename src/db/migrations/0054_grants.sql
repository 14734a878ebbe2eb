-- What a token granted ends with the token unless somebody confirms it, and exports require a recent sign-in (docs/operations/tokens.md,
-- docs/people.md).

-- home: directory

-- The token that created the user, or the link that the user came by; its end suspends the user. null: none, or an operator confirmed the
-- user.
alter table users add column unconfirmed_token_id text;
create index users_by_unconfirmed_token on users (unconfirmed_token_id, id) where unconfirmed_token_id is not null;

-- The token that created the link, which is valid only as long as the token; null: none.
alter table user_links add column created_by_token_id text;

-- The token that created this one and whose end ends it too; null: a person or the local command line created it.
alter table admin_tokens add column made_by_token_id text;
create index admin_tokens_by_maker on admin_tokens (made_by_token_id) where made_by_token_id is not null;

-- What a token may do besides what its role allows; without a role nothing else.
alter table admin_tokens alter column role drop not null;
alter table admin_tokens add column scopes text[] not null default '{}' check (scopes <@ array['export']);
alter table admin_tokens add check (role is not null or cardinality(scopes) > 0);

-- When the user proved their identity with a password, a link, or an OpenID provider that reports it; null: unknown.
alter table sessions add column authenticated_at timestamptz;
