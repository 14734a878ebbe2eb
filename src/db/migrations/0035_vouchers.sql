-- Codes that operators give out and members of accounts redeem, each once: a value in yuan, or a period of a plan.

create table voucher_batches (
  id text primary key,
  name text not null,
  -- what each voucher adds to a balance; null: it grants a plan
  amount_nano bigint check (amount_nano > 0),
  plan_id text,
  voucher_count bigint not null check (voucher_count > 0),
  -- null: they never expire
  expires_at timestamptz,
  created_at timestamptz not null,
  -- what whoever made it was called then
  created_by text not null,
  -- vouchers that were redeemed before stay so
  canceled_at timestamptz,
  -- null: the creation had none
  idempotency_key text,
  check ((amount_nano is null) <> (plan_id is null))
);
create unique index voucher_batches_by_key on voucher_batches (idempotency_key) where idempotency_key is not null;

-- Never changed: what became of a voucher is a row of voucher_redemptions, which belongs to the account, so that an export has
-- it where it has the entry. No reference to the batch, because an export reads the two at different times.
create table vouchers (
  -- the SHA-256 of the code, which is stored nowhere
  code_hash bytea primary key,
  batch_id text not null,
  -- what support sees of the code
  code_end text not null
);

create table voucher_redemptions (
  code_hash bytea primary key,
  id text not null,
  batch_id text not null,
  code_end text not null,
  account_id text not null references accounts (id),
  redeemed_at timestamptz not null,
  -- what whoever did it was called then
  redeemed_by text not null,
  -- the ledger entry of a value, the subscription of a plan
  entry_no bigint,
  subscription_id text,
  check ((entry_no is null) <> (subscription_id is null))
);
create index voucher_redemptions_by_account on voucher_redemptions (account_id, code_hash);
create unique index voucher_redemptions_by_batch on voucher_redemptions (batch_id, id);

-- Entries of vouchers, for the audit. Clients can send no key with a blank.
create index ledger_voucher_entries on ledger_entries (account_id, entry_no)
  where idempotency_key like 'voucher %';
