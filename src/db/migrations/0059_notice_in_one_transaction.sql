-- exclusive: nodes of the version before use what this drops.
-- A notice of an account is stored by the transaction that decides on it (docs/decisions/0062-keys-and-notices.md). A notice that was
-- decided and not stored is taken back: its state is deleted and its account queued, so that the next round decides anew. A stored one is not
-- repeated. Accounts with a new threshold are queued. On Citus a crash may leave this done in partitions but not in the directory; the
-- repetition queues accounts twice, which is harmless.

-- home: directory

do $body$
declare
  place record;
  due record;
  marked text[];
begin
  for place in select number, coalesce(schema, current_schema()) as schema from partitions order by number loop
    -- A partition that was not completed has no tables and no accounts.
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

-- Its index goes with it.
alter table accounts drop column low_balance_set_at;

-- home: partition

drop table due_notices;
