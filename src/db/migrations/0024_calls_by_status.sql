-- Calls by their status, newest first, without those that nearly all calls are. Where a partition is large, building it would keep
-- calls from ending for too long: the housekeeping builds it there.
create index calls_by_status on only calls (status, id) where status <> 'succeeded';

do $body$
declare
  partition text;
begin
  for partition in
    select c.relname from pg_inherits h join pg_class c on c.oid = h.inhrelid
    where h.inhparent = 'calls'::regclass and pg_relation_size(c.oid) <= 64 * 1024 * 1024
  loop
    execute format('create index %I on %I (status, id) where status <> ''succeeded''', partition || '_by_status', partition);
    execute format('alter index calls_by_status attach partition %I', partition || '_by_status');
  end loop;
end
$body$;

-- Accounts by the whole name or e-mail address, as command lines name them.
create index accounts_by_name on accounts (name);
create index accounts_by_email on accounts (email) where email is not null;
