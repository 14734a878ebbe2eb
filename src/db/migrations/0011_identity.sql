-- Tells this database from others: what a node keeps on its own disk for it must never get into another one.
create table database_identity (
  id text primary key
);

insert into database_identity (id) values (gen_random_uuid()::text);
