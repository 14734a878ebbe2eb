-- exclusive: nodes of earlier versions make keys in several transactions, which loose_keys names (docs/decisions/0062-keys-and-notices.md).

-- home: directory

-- Nobody has a loose key: it was not made to the end, or it is forgotten. What its partition has of it goes.
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
