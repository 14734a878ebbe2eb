-- Requests that were refused, and the client's own ids of requests.

create table refusals (
  -- the request id, or an id like it for a count; ids sort by time, so the oldest come first
  id text primary key,
  at timestamptz not null,
  -- how many refusals of that minute, account and code the row stands for
  count bigint not null check (count > 0),
  -- null: it is not known whose key it was
  account_id text,
  key_id text,
  client_request_id text,
  client_address text,
  method text,
  path text,
  operation text,
  model text,
  status bigint,
  code text not null,
  message text,
  param text
);
create index refusals_by_account on refusals (account_id, id) where account_id is not null;
create index refusals_by_code on refusals (code, id);
create index refusals_by_client_request on refusals (client_request_id) where client_request_id is not null;

-- What the client calls its request; null where it did not say. Found by it, and by the provider's id, which request_id is.
alter table calls add column client_request_id text;
-- Bloom filters over ranges of pages: the ids of providers come in no order, and a B-tree would make the end of a call dearer.
create index calls_by_request on calls using brin (request_id text_bloom_ops, client_request_id text_bloom_ops)
  with (autosummarize = on);
