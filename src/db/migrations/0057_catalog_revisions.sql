-- Revisions of the catalog: what operators change while the gateway runs (docs/decisions/0081-catalog-revisions.md).

-- home: directory

create table catalog_revisions (
  number bigint primary key,
  -- the sections of the catalog as YAML, without secrets
  text text not null,
  -- file: recorded by a node whose catalog is in its configuration file
  source text not null check (source in ('push', 'rollback', 'feed', 'file')),
  -- the revision that the change started from; null: none
  base bigint,
  reason text,
  created_by text not null,
  created_at timestamptz not null,
  -- Prices switch at this instant. Not earlier than that of any revision with a lower number that was not canceled.
  in_force_at timestamptz not null,
  canceled_at timestamptz,
  canceled_by text,
  check (number > 0 and (base is null or base < number)),
  check ((canceled_at is null) = (canceled_by is null))
);
