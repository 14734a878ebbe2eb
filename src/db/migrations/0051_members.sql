-- Limits of members over all their keys. They are rows of key_limits with the user's id as key_id, so that decisions, counts, audits and
-- exports of keys include them.

-- home: partition

-- the models allowed for the user's keys; null: not limited. Keys have their own list in api_keys.
alter table key_limits add column allowed_models text[];

-- the user whose limits count a call in flight, and the day, as in key_day_no
alter table reservations add column member_id text;
alter table reservations add column member_day_no bigint;

-- home: directory

-- the name of a former owner who has left the account; null: none
alter table api_keys add column former_user_name text;
