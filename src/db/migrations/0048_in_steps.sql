-- Accounts and redemptions are created in phases, each a transaction of one home (docs/decisions/0061-accounts-and-redemptions.md).

-- home: directory

-- Pending accounts. They become rows of accounts once their balance exists, and appear nowhere else before.
create table new_accounts (
  id text primary key,
  name text not null,
  email text,
  verified boolean not null,
  daily_cap_nano bigint check (daily_cap_nano >= 0),
  -- the first top-up; 0: none
  opening_nano bigint not null,
  created_at timestamptz not null,
  -- by this database's clock; an import resets it
  under_way_since timestamptz not null default clock_timestamp()
);

-- pending since; a pending redemption occupies the code and is not shown; null: complete
alter table voucher_redemptions add column under_way_since timestamptz;
-- for a pending redemption: the subscription that a plan creates if there is none to renew
alter table voucher_redemptions drop constraint voucher_redemptions_check;
alter table voucher_redemptions add constraint voucher_redemptions_check
  check (case when under_way_since is null then (entry_no is null) <> (subscription_id is null) else entry_no is null end);
-- For lists and counts of complete redemptions.
drop index voucher_redemptions_by_batch;
create unique index voucher_redemptions_by_batch on voucher_redemptions (batch_id, id) where under_way_since is null;
create index voucher_redemptions_under_way on voucher_redemptions (id) where under_way_since is not null;

-- home: partition

-- Redemptions whose value an account was refused, so that a late grant finds the decision.
create table refused_redemptions (
  account_id text not null,
  redemption_id text not null,
  refusal text not null,
  refused_at timestamptz not null default clock_timestamp(),
  primary key (account_id, redemption_id)
);
