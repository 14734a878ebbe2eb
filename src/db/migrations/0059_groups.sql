-- Groups of accounts, which the configuration defines (docs/operations/groups.md), and the models that an account may use.

-- home: directory

-- null: the account is in no group. The configuration may no longer contain the group.
alter table accounts add column group_id text;
create index accounts_by_group on accounts (group_id, id) where group_id is not null;

-- canonical model ids; null: not limited
alter table accounts add column allowed_models text[];
