-- No foreign key goes from a partition to the directory (docs/decisions/0060-homes-of-tables.md): they may be in different databases.
-- What these five said holds by what makes the rows. Databases that were made before this step was have them.

-- home: partition

alter table balances drop constraint if exists balances_account_id_fkey;
alter table subscriptions drop constraint if exists subscriptions_account_id_fkey;
alter table subscription_requests drop constraint if exists subscription_requests_account_id_fkey;
alter table rate_limits drop constraint if exists rate_limits_account_id_fkey;
alter table key_limits drop constraint if exists key_limits_account_id_key_id_fkey;
