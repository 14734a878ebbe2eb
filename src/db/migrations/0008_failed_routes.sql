-- The routes that a call was sent over in vain before another one took it, as a JSON list; null where there were none.
alter table calls add column failed_routes jsonb;
