-- Drops call records of whole months and keeps summaries of what is needed later (docs/decisions/0059-retention.md).

-- home: partition

-- The first day of the UTC month in which a call id was created: its ten characters after `call_` are milliseconds in Crockford's base 32.
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

-- Months of admission whose call records were dropped, or are being summarized for it.
create table dropped_months (
  month date primary key,
  -- when records were last dropped; null: not yet, and the summaries are not valid
  dropped_at timestamptz,
  -- number of transactions that dropped records
  drops bigint not null default 0,
  -- the node that summarizes the records, and its last heartbeat
  run_id text,
  seen_at timestamptz,
  -- progress of the summary, and records up to there that may still change
  last_account_id text not null default '',
  last_call_id text not null default '',
  is_summed boolean not null default false,
  -- whether to delete the summaries and start again
  is_void boolean not null default false,
  unresolved text[] not null default '{}'
);

-- Summaries of dropped records. They are written in batches before the drop and become valid with its transaction.

create table dropped_calls (
  account_id text not null,
  dropped_in date not null,
  -- The month of the ids, which is all that a ledger entry has. A call at the turn of a month may have started in another one.
  month date not null,
  calls bigint not null,
  -- number and sum of charges
  charged_calls bigint not null,
  charge_nano bigint not null,
  primary key (account_id, dropped_in, month)
);

-- Usage in dropped records that counters of subscriptions and limited keys still include.
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

-- Usage sums of dropped records, so that an import has them too.
create table dropped_usage (like usage_rollups including constraints);
alter table dropped_usage add dropped_in date not null;
alter table dropped_usage add primary key (account_id, dropped_in, day, key_id, model, provider, status, context);

-- Whether records of an instant's month were dropped or are being dropped. A function, because every settlement contains it but few
-- evaluate it, and the table is opened only then.
create function is_of_dropped_month(at timestamptz) returns boolean language plpgsql stable as $body$
begin
  return exists (select from dropped_months d where d.month = date_trunc('month', at at time zone 'UTC')::date);
end
$body$;
