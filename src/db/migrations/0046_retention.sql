-- Call records whose time is over are dropped by the month, and what is needed of them later is written down
-- (docs/decisions/0059-retention.md).

-- home: partition

-- The first day of the month, in UTC, in which the id of a call was made: its ten characters behind `call_` are milliseconds in
-- Crockford's base 32.
create function month_of_call(id text) returns date language sql immutable parallel safe as $body$
  select date_trunc('month', to_timestamp((
    ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 6, 1)) - 1)::bigint << 45)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 7, 1)) - 1)::bigint << 40)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 8, 1)) - 1)::bigint << 35)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 9, 1)) - 1)::bigint << 30)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 10, 1)) - 1)::bigint << 25)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 11, 1)) - 1)::bigint << 20)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 12, 1)) - 1)::bigint << 15)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 13, 1)) - 1)::bigint << 10)
    + ((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 14, 1)) - 1)::bigint << 5)
    + (strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(id, 15, 1)) - 1)::bigint
  ) / 1000::double precision) at time zone 'UTC')::date
$body$;

-- Months of admission whose call records were dropped, or are being summed up for that.
create table dropped_months (
  -- its first day, in UTC
  month date primary key,
  -- When records of it were dropped last; null: none was yet, and the rows below that it has are not valid.
  dropped_at timestamptz,
  -- transactions that have dropped records of it
  drops bigint not null default 0,
  -- the node that sums its records up, and when it was heard last
  run_id text,
  seen_at timestamptz,
  -- up to where they are summed up, and which of those may still change
  last_account_id text not null default '',
  last_call_id text not null default '',
  is_summed boolean not null default false,
  -- whether what is written down is to be deleted, and the month begun anew
  is_void boolean not null default false,
  unresolved text[] not null default '{}'
);

-- What the records said that were dropped with a month, in the transaction that has dropped it. Rows are written before, in slices,
-- and are valid from that transaction on.

create table dropped_calls (
  account_id text not null,
  dropped_in date not null,
  -- That of their ids, which is all that a ledger entry has. A call at the turn of a month may have started in another one.
  month date not null,
  calls bigint not null,
  -- those that have a charge, and its sum
  charged_calls bigint not null,
  charge_nano bigint not null,
  primary key (account_id, dropped_in, month)
);

-- What counters still count of them: of a subscription, or of a limited key.
create table dropped_uses (
  account_id text not null,
  dropped_in date not null,
  owner_id text not null,
  counter text not null,
  -- the day, week or period; empty: all
  place text not null,
  amount bigint not null,
  primary key (account_id, dropped_in, owner_id, counter, place)
);

-- What the sums of usage have of them, so that an import has it too.
create table dropped_usage (like usage_rollups including constraints);
alter table dropped_usage add dropped_in date not null;
alter table dropped_usage add primary key (account_id, dropped_in, day, key_id, model, provider, status, context);

-- Whether records of the month of an instant were dropped, or are being. A function, because each end of a call has it in its statement
-- and few ends reach it: the table is not opened for the others.
create function is_of_dropped_month(at timestamptz) returns boolean language plpgsql stable as $body$
begin
  return exists (select from dropped_months d where d.month = date_trunc('month', at at time zone 'UTC')::date);
end
$body$;
