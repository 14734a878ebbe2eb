-- exclusive: nodes of earlier versions do not queue the calls that they record, and their sums would lack these.
-- What a call cost the operator, by the cost of the route that served it; null where that is not known.
alter table calls add column cost_nano bigint;

-- Sums of usage by day: made in the background from call records, each of which is counted once
-- (docs/decisions/0033-usage-rollups.md).

-- Whether the record was queued when it became final; null: it is of an earlier version, or unresolved, and is not queued.
alter table calls add column is_queued boolean;

-- What is not in the sums yet: a row for the calls of a batch, written with their records, or for a refund. A row is deleted by
-- the transaction that adds it to the sums.
create table usage_queue (
  queued_at timestamptz not null default now(),
  account_ids text[] not null,
  call_ids text[] not null,
  started_ats timestamptz[] not null,
  -- of a refund of the one call that the row names; null: the calls themselves
  entry_no bigint
);
-- Compressing them would cost the ends of calls more than it saves.
alter table usage_queue alter column account_ids set storage external;
alter table usage_queue alter column call_ids set storage external;
alter table usage_queue alter column started_ats set storage external;

-- A record of an unresolved call that becomes final, by whichever statement, is queued with that.
create function queue_resolved_call() returns trigger language plpgsql as $body$
begin
  new.is_queued := true;
  insert into usage_queue (account_ids, call_ids, started_ats)
  values (array[new.account_id], array[new.id], array[new.started_at]);
  return new;
end
$body$;

create trigger calls_resolved_are_queued before update on calls for each row
  when (old.status = 'unresolved' and new.status <> 'unresolved') execute function queue_resolved_call();

create function queue_refund() returns trigger language plpgsql as $body$
begin
  insert into usage_queue (account_ids, call_ids, started_ats, entry_no)
  values (array[new.account_id], array[new.call_id], '{}', new.entry_no);
  return null;
end
$body$;

create trigger ledger_refunds_are_queued after insert on ledger_entries for each row
  when (new.kind = 'refund' and new.call_id is not null) execute function queue_refund();

-- Entries of a statement of account, beside the many charges.
create index ledger_entries_beside_charges on ledger_entries (account_id, created_at) where kind <> 'charge';

-- Which records of earlier versions are in the sums: those up to this id.
create table usage_backfill (
  is_only boolean primary key default true check (is_only),
  last_call_id text not null default '',
  is_done boolean not null default false
);
insert into usage_backfill default values;

-- Final calls and refunds of an account in a day of the billing time zone.
create table usage_rollups (
  account_id text not null,
  day date not null,
  key_id text not null,
  model text not null,
  provider text not null,
  status text not null,
  context text not null,
  calls bigint not null,
  charge_nano bigint not null,
  refund_nano bigint not null,
  cost_nano bigint not null,
  -- calls with usage whose cost is not known
  uncosted_calls bigint not null,
  images bigint not null,
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  cache_write_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  image_input_tokens bigint not null,
  audio_input_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  image_output_tokens bigint not null,
  audio_output_tokens bigint not null,
  search_units bigint not null,
  web_searches bigint not null,
  web_fetches bigint not null,
  file_searches bigint not null,
  code_executions bigint not null,
  containers bigint not null,
  other_tool_uses bigint not null,
  primary key (account_id, day, key_id, model, provider, status, context)
) with (fillfactor = 80);

-- The same sums over all accounts, so that questions about all of them read few rows.
create table usage_totals (like usage_rollups including constraints);
alter table usage_totals drop column account_id, drop column key_id;
alter table usage_totals set (fillfactor = 50);
alter table usage_totals add primary key (day, model, provider, status, context);
