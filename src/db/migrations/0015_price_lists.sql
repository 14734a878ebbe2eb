-- Price lists of call records, each stored once. The id is made of the content, so a node that knows a list knows its id.
create table price_lists (
  id uuid primary key,
  -- unit prices in nano-yuan, as text in JSON
  prices jsonb not null
);

-- The prices in force when the call was admitted; null where the call is unresolved. Records of earlier versions have the
-- list itself, in prices, until retention drops them.
alter table calls add column price_list uuid;
