-- An account and a redemption are made in steps, each a transaction of one home (docs/decisions/0061-accounts-and-redemptions.md).

-- home: directory

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

-- A redemption that is under way has the code, and nothing shows it; null: it is whole.
alter table voucher_redemptions add column under_way_since timestamptz;
-- While it is under way, the subscription is the one that a plan begins if there is none to renew.
alter table voucher_redemptions drop constraint voucher_redemptions_check;
alter table voucher_redemptions add constraint voucher_redemptions_check
  check (case when under_way_since is null then (entry_no is null) <> (subscription_id is null) else entry_no is null end);
-- Lists and counts have whole ones only.
drop index voucher_redemptions_by_batch;
create unique index voucher_redemptions_by_batch on voucher_redemptions (batch_id, id) where under_way_since is null;
create index voucher_redemptions_under_way on voucher_redemptions (id) where under_way_since is not null;

-- home: partition

-- Redemptions to which an account was refused what they give. Whoever is late to give it finds that it is decided.
create table refused_redemptions (
  account_id text not null,
  redemption_id text not null,
  refusal text not null,
  refused_at timestamptz not null default clock_timestamp(),
  primary key (account_id, redemption_id)
);
