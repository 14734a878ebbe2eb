-- exclusive: nodes of the version before make accounts and partitions in steps.
-- One transaction makes an account, its balance and its first ledger entry (docs/decisions/0061-accounts-and-redemptions.md), and one a
-- partition (docs/decisions/0063-partitions-are-schemas.md).

-- home: directory

-- A pending account that has its balance becomes whole. Of the others nobody was told: a repeat of the request makes the account anew.
do $finish$
declare
  place record;
  ids text[];
begin
  for place in
    select p.number, coalesce(p.schema, current_schema()) as schema from partitions p
    where exists (select from new_accounts n where n.partition_no = p.number)
  loop
    -- By itself: Citus joins no tables of the coordinator with those of a worker.
    execute format('select array_agg(account_id) from %I.balances where account_id = any ($1)', place.schema)
    into ids using array(select id from new_accounts where partition_no = place.number);
    insert into accounts (id, name, email, verified, status, created_at, updated_at, partition_no)
    select id, name, email, verified, 'active', created_at, created_at, partition_no from new_accounts where id = any (ids)
    on conflict (id) do nothing;
  end loop;
end
$finish$;
delete from account_requests r using new_accounts n
where n.id = r.account_id and not exists (select from accounts a where a.id = r.account_id);
drop table new_accounts;

-- The comment of a schema says that it is the partition's. Its tables were made with it.
do $refuse$ declare half text := (
  select string_agg(number::text, ', ') from partitions
  where state = 'making' and obj_description(to_regnamespace(schema), 'pg_namespace') is distinct from
    format('partition %s of Faregate, made %s', number, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
);
begin
  if half is not null then
    raise exception 'partition % was not made to its end; let the version before complete it first: faregate db migrate', half;
  end if;
end $refuse$;
alter table partitions drop column state;
