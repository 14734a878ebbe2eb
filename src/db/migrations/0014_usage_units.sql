-- Usage units that few calls have, by their names; null where there are none. A new unit needs no column.
alter table calls add column other_units jsonb;
