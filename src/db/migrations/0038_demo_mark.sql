-- Whether the demo made this database, whose balances nobody has paid; null: no gateway has served it since there is this column.
alter table database_identity add column is_demo boolean;
