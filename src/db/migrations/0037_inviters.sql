-- The owner whose invitation it is, which works for as long as that person is an owner; null: it is no invitation, or of before.
alter table user_links add column created_by_user_id text;
