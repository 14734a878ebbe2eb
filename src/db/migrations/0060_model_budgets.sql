-- Budgets of a key or a member for single models. They are rows of key_limits with the owner's id and the model as key_id, so that decisions,
-- counts, audits and exports of keys include them.

-- home: partition

-- the key or the user that the budget belongs to, and the canonical id of the model when it was set; null: a row for all models together
alter table key_limits add column owner_id text;
alter table key_limits add column model text;
create index key_limits_by_owner on key_limits (account_id, owner_id) where owner_id is not null;

-- the budgets for the model that have reserved amount_nano, as key_limits.key_id; null: none
alter table reservations add column key_budget_id text;
alter table reservations add column member_budget_id text;
