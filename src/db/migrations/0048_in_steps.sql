-- An account is made in steps, each a transaction of one home (docs/decisions/0061-accounts-and-redemptions-in-steps.md).

-- Accounts that are under way: they become rows of accounts when their balance is there, and are nowhere else until then.
create table new_accounts (
  id text primary key,
  name text not null,
  email text,
  verified boolean not null,
  daily_cap_nano bigint check (daily_cap_nano >= 0),
  -- the first top-up; 0: none
  opening_nano bigint not null,
  created_at timestamptz not null,
  -- by the clock of this database; an import sets it anew
  under_way_since timestamptz not null default clock_timestamp()
);
