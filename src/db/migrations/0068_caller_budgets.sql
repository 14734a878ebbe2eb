-- Budgets of end users and tags. They are rows of key_limits with the kind and the value as key_id, so that decisions, counts, audits and
-- exports of keys include them. The row of the kind alone has the default budget. Rows with a budget have the kind as owner_id.

-- home: partition

-- the budgets of the end user and the tags that have reserved amount_nano, as key_limits.key_id; null: none
alter table reservations add column caller_budget_ids jsonb;
