-- The group that an account had when a call was admitted or a period of a plan was sold, for usage and margins by group (docs/usage.md).

-- home: partition

-- null: none, or the record is from an earlier version
alter table calls add column group_id text;
alter table plan_periods add column group_id text;

-- empty: as null above. Separate statements, because Citus refuses a constraint together with other changes.
alter table usage_rollups add column group_id text not null default '';
alter table usage_rollups drop constraint usage_rollups_pkey;
alter table usage_rollups add primary key (account_id, day, key_id, model, provider, status, context, group_id);

-- Created again after the primary key: on a small table both cost the same, and the planner then takes the newer one.
drop index usage_rollups_by_key;
create index usage_rollups_by_key on usage_rollups (account_id, key_id);

alter table usage_totals add column group_id text not null default '';
alter table usage_totals drop constraint usage_totals_pkey;
alter table usage_totals add primary key (day, model, provider, status, context, group_id);

alter table dropped_usage add column group_id text not null default '';
alter table dropped_usage drop constraint dropped_usage_pkey;
alter table dropped_usage add primary key (account_id, dropped_in, day, key_id, model, provider, status, context, group_id);
