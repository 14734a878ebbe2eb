-- Drafts of revisions, and prices that follow a source (docs/operations/catalog.md).

-- home: directory

-- null: a draft, which is never in force by itself
alter table catalog_revisions alter column in_force_at drop not null;

-- who put a draft in force; null: it was not a draft
alter table catalog_revisions add column applied_by text;
alter table catalog_revisions add check (in_force_at is not null or applied_by is null);

-- The last read of the price source, for all nodes. A row without an end is a lease: only one node reads at a time.
create table price_source_reads (
  is_only boolean primary key default true check (is_only),
  node text not null,
  started_at timestamptz not null,
  -- null: the node is reading, or has died
  ended_at timestamptz,
  -- unchanged: prices are those of the source; changed: they differ, and the catalog is in the file; failed: the source could not be used
  outcome text check (outcome in ('unchanged', 'draft', 'applied', 'changed', 'failed')),
  -- why the read failed
  message text,
  -- the draft, or the revision that was put in force
  revision bigint,
  check ((ended_at is null) = (outcome is null))
);
