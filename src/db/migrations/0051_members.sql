-- Limits of the people of an account, over all keys of each. They are rows of key_limits whose key_id is the id of the person, so that what is
-- decided, counted, audited and exported of keys is of people too.

-- home: partition

-- The models that the keys of a person may use; null: not limited. Keys have theirs in api_keys.
alter table key_limits add column allowed_models text[];

-- The person whose limits count a call in flight, and the day on which they do, as key_day_no.
alter table reservations add column member_id text;
alter table reservations add column member_day_no bigint;

-- home: directory

-- The name of the person whose key it was who has left the account; null: nobody has.
alter table api_keys add column former_user_name text;
