-- The person who has made the link, which works for as long as that person may make it; null: no person has, or it is of before.
alter table user_links add column created_by_user_id text;
