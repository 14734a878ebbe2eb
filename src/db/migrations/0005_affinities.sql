-- Which provider made what a later call may refer to: a response, or a context that only its maker can read. Keys are
-- hashes. Rows are dropped when they are older than any provider keeps its own.
create table affinities (
  account_id text not null,
  key text not null,
  model text not null,
  provider text not null,
  made_at timestamptz not null,
  primary key (account_id, key)
);

create index affinities_by_age on affinities (made_at);
