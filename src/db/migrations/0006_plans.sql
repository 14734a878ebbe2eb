-- Coding Plans: what an account is entitled to, and what of it is used.

-- A subscription and its counters in one row, which every admission and end of a coding call locks. Nothing that changes
-- with a call is indexed, so that each change is a heap-only update.
create table subscriptions (
  account_id text not null references accounts (id),
  id text not null,
  plan_id text not null,
  -- the anchor of weeks and periods; renewal moves ends_at only
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  canceled_at timestamptz,
  created_at timestamptz not null,
  -- rows of this subscription in plan_slots; those that are older than five hours count until they are deleted
  slots bigint not null default 0 check (slots >= 0),
  -- the week since the anchor that week_calls counts, and the period that period_tokens counts
  week_no bigint not null default 0,
  week_calls bigint not null default 0 check (week_calls >= 0),
  period_no bigint not null default 0,
  period_tokens bigint not null default 0 check (period_tokens >= 0),
  in_flight bigint not null default 0 check (in_flight >= 0),
  primary key (account_id, id),
  check (starts_at < ends_at)
) with (fillfactor = 50);

create unique index subscriptions_by_id on subscriptions (id);

-- One row a call that counts in the five-hour window.
create table plan_slots (
  account_id text not null,
  subscription_id text not null,
  call_id text not null,
  taken_at timestamptz not null,
  primary key (account_id, call_id)
);

create index plan_slots_by_time on plan_slots (account_id, subscription_id, taken_at);

-- One row a coding call in flight.
create table plan_holds (
  account_id text not null,
  call_id text not null,
  subscription_id text not null,
  week_no bigint not null,
  period_no bigint not null,
  key_id text not null,
  model text not null,
  node_id text not null,
  held_at timestamptz not null,
  primary key (account_id, call_id)
);
