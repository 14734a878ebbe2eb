-- Refusals of the keys of one person, who sees no others.
create index refusals_by_key on refusals (key_id, id) where key_id is not null;
