-- What operators look for and look at.

-- Why an account has the status that it has, and since when; null: since it was created.
alter table accounts add column status_reason text;
alter table accounts add column status_changed_at timestamptz;

-- Keys by what lists show of them, in the order of bytes, so that a beginning is a range.
create index api_keys_by_prefix on api_keys (prefix collate "C");

-- When a key was used last, as far as its nodes have said so: once a minute, behind its calls. A table of its own, because a row
-- of api_keys that changes behind the cut of an export would be left out of it.
create table key_uses (
  account_id text not null,
  key_id text not null,
  last_used_at timestamptz not null,
  primary key (account_id, key_id)
) with (fillfactor = 70);

-- How many subscriptions of a plan are active. Nothing of it changes with a call.
create index subscriptions_by_plan on subscriptions (plan_id, ends_at) where canceled_at is null;
