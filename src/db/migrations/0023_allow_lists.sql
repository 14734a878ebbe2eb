-- What a key may be used for, and from where; null: not limited.
alter table api_keys add column allowed_models text[];
alter table api_keys add column allowed_networks text[];
