-- What a token gives away ends with it unless somebody confirms it, and an export asks for a sign-in of the last minutes
-- (docs/operations/tokens.md, docs/people.md).

-- home: directory

-- The token that made the person, or the link by which the person got in: the person is suspended when it ends. null: no token did, or an operator
-- has confirmed the person.
alter table users add column unconfirmed_token_id text;
create index users_by_unconfirmed_token on users (unconfirmed_token_id, id) where unconfirmed_token_id is not null;

-- The token that made the link, which works for as long as the token does; null: no token did.
alter table user_links add column created_by_token_id text;

-- The token that made this one, with which it ends; null: a person did, or the command line of the machine.
alter table admin_tokens add column made_by_token_id text;
create index admin_tokens_by_maker on admin_tokens (made_by_token_id) where made_by_token_id is not null;

-- What a token may do besides what its role says; without a role nothing else.
alter table admin_tokens alter column role drop not null;
alter table admin_tokens add column scopes text[] not null default '{}' check (scopes <@ array['export']);
alter table admin_tokens add check (role is not null or cardinality(scopes) > 0);

-- When the person proved who it is, by a password, a link or an OpenID provider that says so; null: it is not known.
alter table sessions add column authenticated_at timestamptz;
