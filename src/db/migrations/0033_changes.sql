-- The change log: who has changed what, from where, and when. Rows are written before a change is made and once more when it has
-- ended; nothing else changes them, and after their time they are deleted.

create table changes (
  -- ids sort by time, so the oldest come first
  id text primary key,
  begun_at timestamptz not null,
  ended_at timestamptz,
  -- begun: nothing more is known
  outcome text not null check (outcome in ('begun', 'done', 'failed')),
  actor_kind text not null,
  actor_id text,
  actor_name text not null,
  session_id text,
  -- who the operating system says is at the command line
  local_user text,
  -- null: there was no request
  method text,
  path text,
  action text not null,
  subject_kind text not null,
  subject_id text,
  account_id text,
  before jsonb,
  after jsonb,
  client_address text,
  request_id text,
  error_code text
);
create index changes_by_actor_kind on changes (actor_kind, id);
create index changes_by_actor on changes (actor_id, id) where actor_id is not null;
create index changes_by_action on changes (action, id);
create index changes_by_subject on changes (subject_id, id) where subject_id is not null;
create index changes_by_account on changes (account_id, id) where account_id is not null;
