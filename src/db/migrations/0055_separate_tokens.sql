-- Tokens that a provider counts in addition to its totals: citations and reasoning of research models (docs/charges.md). Records have them
-- in calls.other_units; sums have a column for each unit.

-- home: partition

alter table usage_rollups add column citation_tokens bigint not null default 0, add column separate_reasoning_tokens bigint not null default 0;
alter table usage_totals add column citation_tokens bigint not null default 0, add column separate_reasoning_tokens bigint not null default 0;
alter table dropped_usage add column citation_tokens bigint not null default 0, add column separate_reasoning_tokens bigint not null default 0;
