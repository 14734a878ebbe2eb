-- exclusive: a voucher is redeemed by one transaction of the directory and a partition (docs/decisions/0061-accounts-and-redemptions.md).

-- home: directory

-- A pending redemption that has given is completed with what it gave. Another one is deleted: nobody was told that it succeeded, and the code
-- can be redeemed. Its partition may not have this step yet.
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

-- home: partition

drop table refused_redemptions;
