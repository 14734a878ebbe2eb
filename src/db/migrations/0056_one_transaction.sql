-- exclusive: nodes of the previous version create accounts, keys, notices and partitions in several transactions.
-- Changes of the directory and a partition now use one transaction (docs/decisions/0061-accounts-and-redemptions.md,
-- docs/decisions/0062-keys-and-notices.md, docs/decisions/0063-partitions-are-schemas.md). This migration completes what is pending, or
-- takes it back if nobody was told that it succeeded. Partitions may not have this migration yet.

-- home: directory

-- A pending account with a balance becomes complete. Others are deleted: a repeat of the request creates the account again.
do $finish$
declare
  place record;
  ids text[];
begin
  for place in
    select p.number, coalesce(p.schema, current_schema()) as schema from partitions p
    where exists (select from new_accounts n where n.partition_no = p.number)
  loop
    -- A separate query, because Citus joins no tables of the coordinator with those of a worker.
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

-- A schema's comment identifies it as the partition's. Its tables were created with it.
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

-- A pending redemption that has granted its value is completed. Others are deleted, so that the code can be redeemed: nobody was told that
-- they succeeded. Their partitions may not have this migration yet.
do $$
declare
  pending record;
  key text;
  given_entry bigint;
  given_subscription text;
begin
  for pending in
    select r.code_hash, r.account_id, coalesce(p.schema, current_schema()) as schema
    from voucher_redemptions r join accounts a on a.id = r.account_id join partitions p on p.number = a.partition_no
    where r.under_way_since is not null
  loop
    key := 'voucher ' || encode(pending.code_hash, 'hex');
    execute format('select entry_no from %I.ledger_entries where account_id = $1 and idempotency_key = $2', pending.schema)
      into given_entry using pending.account_id, key;
    execute format('select subscription_id from %I.subscription_requests where account_id = $1 and idempotency_key = $2', pending.schema)
      into given_subscription using pending.account_id, key;
    if given_entry is null and given_subscription is null then
      delete from voucher_redemptions where code_hash = pending.code_hash;
    else
      update voucher_redemptions set entry_no = given_entry, subscription_id = given_subscription, under_way_since = null
      where code_hash = pending.code_hash;
    end if;
  end loop;
end $$;

drop index voucher_redemptions_under_way;
drop index voucher_redemptions_by_batch;
alter table voucher_redemptions drop constraint voucher_redemptions_check;
alter table voucher_redemptions drop column under_way_since;
alter table voucher_redemptions add constraint voucher_redemptions_check check ((entry_no is null) <> (subscription_id is null));
create unique index voucher_redemptions_by_batch on voucher_redemptions (batch_id, id);

-- An orphaned key was not created completely, or was deleted. Its rows in the partition are deleted.
do $$
declare
  loose record;
  of_keys text;
begin
  for loose in
    select l.account_id, coalesce(p.schema, current_schema()) as schema, array_agg(l.key_id) as key_ids
    from loose_keys l join accounts a on a.id = l.account_id join partitions p on p.number = a.partition_no
    where not exists (select from api_keys k where k.id = l.key_id)
    group by l.account_id, p.schema
  loop
    foreach of_keys in array array['key_limits', 'rate_limits', 'key_uses'] loop
      execute format('delete from %I.%I where account_id = $1 and key_id = any ($2)', loose.schema, of_keys)
      using loose.account_id, loose.key_ids;
    end loop;
  end loop;
end $$;

drop table loose_keys;

do $body$
declare
  place record;
  due record;
  marked text[];
begin
  for place in select number, coalesce(schema, current_schema()) as schema from partitions order by number loop
    -- An incomplete partition has no tables and no accounts.
    continue when to_regclass(format('%I.due_notices', place.schema)) is null;
    for due in execute format('select account_id, dedupe_key, kind, subject from %I.due_notices', place.schema) loop
      continue when exists (select from notices n where n.dedupe_key = due.dedupe_key);
      execute format('delete from %I.notice_states where account_id = $1 and subject = $2', place.schema)
        using due.account_id, case due.kind when 'balance.low' then 'balance' else due.subject end;
      execute format('insert into %I.account_changes (account_ids) values (array[$1])', place.schema) using due.account_id;
    end loop;
    select array_agg(id) into marked from accounts where low_balance_set_at is not null and partition_no = place.number;
    if marked is not null then
      execute format('insert into %I.account_changes (account_ids) values ($1)', place.schema) using marked;
    end if;
  end loop;
end
$body$;

alter table accounts drop column low_balance_set_at;

-- home: partition

drop table refused_redemptions;
drop table due_notices;
