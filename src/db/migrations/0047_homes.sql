-- Drops the foreign keys from partitions to the directory, which may be in different databases (docs/decisions/0060-homes-of-tables.md).
-- The code that writes the rows ensures that the referenced rows exist. Only databases older than this migration have these keys.

-- home: partition

alter table balances drop constraint if exists balances_account_id_fkey;
alter table subscriptions drop constraint if exists subscriptions_account_id_fkey;
alter table subscription_requests drop constraint if exists subscription_requests_account_id_fkey;
alter table rate_limits drop constraint if exists rate_limits_account_id_fkey;
alter table key_limits drop constraint if exists key_limits_account_id_key_id_fkey;
