-- Accounts may be spread over partitions, each a schema (docs/decisions/0063-partitions-are-schemas.md). Initially all accounts are in the
-- first one, which shares the directory's schema.

-- home: directory

create table partitions (
  -- numbered from 0 without gaps; schema names contain it with two digits
  number smallint primary key check (number between 0 and 99),
  -- null: the directory's schema, which contains the first partition
  schema text unique check (schema ~ '^[a-z][a-z0-9_]{0,62}$'),
  -- making: its tables may not exist yet
  state text not null check (state in ('making', 'ready')),
  created_at timestamptz not null default clock_timestamp(),
  check ((number = 0) = (schema is null))
);
insert into partitions (number, state) values (0, 'ready');

-- the partition of an account, chosen when the account is created
alter table accounts add column partition_no smallint not null default 0 references partitions (number);
alter table new_accounts add column partition_no smallint not null default 0 references partitions (number);
