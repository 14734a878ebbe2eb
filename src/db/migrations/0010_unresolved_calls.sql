-- Calls whose node died: their holds are taken over by another node and recorded as calls that nobody knows the end of.

-- One row a node that runs, on a server that several may share. Only the database's clock says who was heard when.
create table nodes (
  id text primary key,
  started_at timestamptz not null,
  seen_at timestamptz not null
) with (fillfactor = 50);

-- What is known of a call when it is admitted, as a list in JSON. Text, because it is read only of calls that nobody ends.
alter table holds add column facts text not null default '[]';
alter table plan_holds add column facts text not null default '[]';

-- What an unresolved call held, which is the most that it may have cost; null for every other call, and on a plan.
alter table calls add column held_nano bigint;
-- null: the call is unresolved
alter table calls alter column prices drop not null;
