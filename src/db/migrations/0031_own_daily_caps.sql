-- What owners of an account let it spend in a day, below the cap of the operator; null: no cap of theirs.
alter table balances add column own_daily_cap_nano bigint check (own_daily_cap_nano >= 0);
