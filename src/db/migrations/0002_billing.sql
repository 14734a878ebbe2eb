-- Money. All amounts are nano-yuan.
--
-- holds and ledger_entries have no foreign key to accounts: every statement that writes them starts from the account's
-- locked row in balances, and with the checks a batch of 64 calls took a fifth longer.

-- One row an account, changed by every admission and settlement: kept apart from accounts and with room on the page, so
-- that each change is a heap-only update that touches no index.
create table balances (
  account_id text primary key references accounts (id),
  balance_nano bigint not null default 0,
  held_nano bigint not null default 0 check (held_nano >= 0),
  -- null: the configuration's cap
  daily_cap_nano bigint check (daily_cap_nano >= 0),
  -- what was charged on the day spent_on (the billing time zone's day)
  spent_on date not null default '1970-01-01',
  spent_nano bigint not null default 0,
  last_entry_no bigint not null default 0
) with (fillfactor = 50);

-- Money set aside while a call is in flight.
create table holds (
  account_id text not null,
  call_id text not null,
  amount_nano bigint not null check (amount_nano >= 0),
  key_id text not null,
  model text not null,
  node_id text not null,
  held_at timestamptz not null,
  primary key (account_id, call_id)
);

-- Every change of a balance, numbered from 1 in each account without gaps.
create table ledger_entries (
  account_id text not null,
  entry_no bigint not null check (entry_no > 0),
  kind text not null check (kind in ('top_up', 'charge', 'refund', 'adjustment')),
  amount_nano bigint not null,
  balance_after_nano bigint not null,
  call_id text,
  memo text,
  idempotency_key text,
  created_at timestamptz not null,
  primary key (account_id, entry_no),
  check ((kind = 'charge') = (call_id is not null) or kind = 'refund')
);

create unique index ledger_one_charge_a_call on ledger_entries (account_id, call_id) where kind = 'charge';
create unique index ledger_by_idempotency_key on ledger_entries (account_id, idempotency_key)
  where idempotency_key is not null;

create function refuse_ledger_change() returns trigger language plpgsql as $body$
begin
  raise exception 'ledger entries are never changed or deleted; write a correcting entry instead';
end
$body$;

create trigger ledger_is_immutable before update or delete on ledger_entries
  for each row execute function refuse_ledger_change();
create trigger ledger_is_never_emptied before truncate on ledger_entries
  for each statement execute function refuse_ledger_change();
