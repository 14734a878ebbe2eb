-- What a key may be used for: calls, or the account API.
alter table api_keys add column scopes text[] not null default '{calls}'
  check (scopes <@ '{calls,account}' and cardinality(scopes) > 0);

-- The person whose key it is; null: the account's.
alter table api_keys add column user_id text;
create index api_keys_by_user on api_keys (account_id, user_id, id) where user_id is not null;
