-- What accounts and operators are told of, and who was told (docs/decisions/0040-notices.md).

-- Accounts whose money or plan has changed: written in the background by the job that sums usage, and with every entry that is no
-- charge. A row is deleted by the transaction that looks at its accounts. Short, read from its start, without an index.
create table account_changes (
  account_ids text[] not null
);
alter table account_changes alter column account_ids set storage external;

create function queue_account_change() returns trigger language plpgsql as $body$
begin
  insert into account_changes (account_ids) values (array[new.account_id]);
  return null;
end
$body$;

create trigger ledger_changes_are_queued after insert on ledger_entries for each row
  when (new.kind <> 'charge') execute function queue_account_change();

-- null: the configuration's
alter table accounts add column low_balance_nano bigint check (low_balance_nano >= 0);

-- What was said of an account and is still so: a balance that is low, the share of a plan's quota that is used. Without a row
-- nothing was said.
create table notice_states (
  account_id text not null,
  subject text not null,
  -- the period that the level is of; empty where there are none
  occurrence text not null,
  level bigint not null,
  primary key (account_id, subject)
);

-- Where signed notices are sent to.
create table webhook_endpoints (
  id text primary key,
  -- null: of the operators, for all accounts
  account_id text references accounts (id),
  url text not null,
  -- signs, so it is stored as it is
  secret text not null,
  -- null: all
  events text[],
  status text not null check (status in ('active', 'disabled')),
  status_reason text,
  -- since when each attempt has failed; null: the last one succeeded, or there was none
  failing_since timestamptz,
  -- of the request that made it: its repeat makes no other one
  idempotency_key text,
  created_at timestamptz not null
);
create unique index webhook_endpoints_by_idempotency_key on webhook_endpoints (coalesce(account_id, ''), idempotency_key)
  where idempotency_key is not null;
create index webhook_endpoints_by_account on webhook_endpoints (account_id, id);

create table notices (
  id text primary key,
  kind text not null,
  -- null: of the operators alone
  account_id text,
  -- what it is about, within its kind
  subject text not null,
  -- the occurrence: there is one notice of each
  dedupe_key text not null,
  data jsonb not null,
  at timestamptz not null
);
create unique index notices_by_dedupe_key on notices (dedupe_key);
create index notices_by_subject on notices (kind, subject, at);

-- A notice for a receiver: the id of an endpoint, or mail: and an address.
create table notice_deliveries (
  notice_id text not null,
  receiver text not null,
  status text not null check (status in ('pending', 'delivered', 'failed')),
  attempts bigint not null default 0,
  next_attempt_at timestamptz not null,
  last_attempt_at timestamptz,
  last_status bigint,
  last_error text,
  primary key (notice_id, receiver)
) with (fillfactor = 80);
create index notice_deliveries_due on notice_deliveries (receiver, next_attempt_at) where status = 'pending';
create index notice_deliveries_by_receiver on notice_deliveries (receiver, notice_id);

-- A receiver for which something is pending: one node at a time sends to it, one notice after the other.
create table notice_receivers (
  receiver text primary key,
  channel text not null,
  next_at timestamptz not null,
  -- attempts in a row that failed
  failures bigint not null default 0,
  lease_id text,
  leased_until timestamptz
) with (fillfactor = 70);
create index notice_receivers_due on notice_receivers (channel, next_at);

-- Up to where keys that expire were looked for, by the days that were left.
create table key_expiry_progress (
  days_left bigint primary key,
  expires_at timestamptz not null,
  key_id text not null
);
create index api_keys_by_expiry on api_keys (expires_at, id) where expires_at is not null and revoked_at is null;
