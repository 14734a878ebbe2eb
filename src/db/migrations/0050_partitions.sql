-- Accounts may be spread over partitions, each of which is a schema (docs/decisions/0063-partitions-are-schemas.md). This step makes none: the
-- first one is in the schema of the directory, and has all accounts.

-- home: directory

create table partitions (
  -- counted from 0 on without gaps, also in the names of schemas, which have two digits
  number smallint primary key check (number between 0 and 99),
  -- null: that of the directory, which the first one is in
  schema text unique check (schema ~ '^[a-z][a-z0-9_]{0,62}$'),
  -- making: its tables may not be there yet
  state text not null check (state in ('making', 'ready')),
  created_at timestamptz not null default clock_timestamp(),
  check ((number = 0) = (schema is null))
);
insert into partitions (number, state) values (0, 'ready');

-- Where what calls of an account read and change is. It is decided when the account is made.
alter table accounts add column partition_no smallint not null default 0 references partitions (number);
alter table new_accounts add column partition_no smallint not null default 0 references partitions (number);
