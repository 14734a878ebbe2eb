-- Who made a call: client address, program, end user and tags (docs/callers.md), and sums of usage by the last three.

-- home: directory

-- what the account records of its callers, in addition to what the configuration records
alter table accounts add column records_client_address boolean not null default false;
alter table accounts add column records_program boolean not null default false;
alter table accounts add column records_end_user boolean not null default false;

-- home: partition

-- {clientAddress, program, endUser, tags}, without members that were not recorded; null: nothing was recorded
alter table calls add column caller jsonb;

-- Sums of final calls as in usage_rollups, for each end user, program and tag. They are deleted together with the records of their month.
-- home: partition
create table usage_callers (like usage_rollups including constraints) with (fillfactor = 80);
alter table usage_callers add column kind text not null;
-- empty: the values beyond the number that an account can have in a day
alter table usage_callers add column value text not null;
alter table usage_callers add primary key (account_id, day, kind, value, key_id, model, provider, status, context, group_id);

-- for usage of all accounts, and to delete a month
create index usage_callers_by_day on usage_callers (day);
