-- exclusive: nodes of earlier versions do not record what their calls count for, and the counters would be above their records.
-- What each charge and each call counts for, so that an audit can recompute the counters
-- (docs/decisions/0037-lists-and-audits-at-size.md).

-- How many days, weeks and months were begun: with the instant at which one began it names what a counter counts.
alter table balances add column day_no bigint not null default 0;
alter table key_limits
  add column week_no bigint not null default 0,
  add column month_no bigint not null default 0;

alter table ledger_entries
  -- of a charge: the day in which the account counts it as spent; null: the entry is of an earlier version
  add column day_no bigint,
  add column day_began_at timestamptz,
  -- the budgets of the key that count it, as JSON; null: none does
  add column counted_key jsonb;

-- What the call counts for in windows, quotas and calls of a day, as JSON; null: nothing, or the record is of an earlier version.
alter table calls add column counted jsonb;

-- How many records of calls count here; each has its number.
alter table subscriptions add column use_no bigint not null default 0;
alter table key_limits add column use_no bigint not null default 0;

-- What had been counted that no record says, as JSON: by earlier versions, or by the key that this one replaced; null: nothing.
alter table balances add column counted_before jsonb;
alter table key_limits add column counted_before jsonb;
alter table subscriptions add column counted_before jsonb;

create function place_of(no bigint, began_at timestamptz) returns text immutable language sql as
  $body$ select no || '@' || round(extract(epoch from began_at) * 1000)::bigint $body$;

update balances set counted_before = jsonb_build_object('day', place_of(day_no, day_began_at), 'spent', spent_nano)
where spent_nano <> 0;

update key_limits l set counted_before = jsonb_build_object(
  'day', place_of(day_no, day_began_at), 'spent', spent_nano, 'calls', calls - (
    select count(*) from reservations r
    where r.account_id = l.account_id and r.key_id = l.key_id and r.key_day_no = l.day_no
  ),
  'week', place_of(week_no, week_began_at), 'weekSpent', week_spent_nano,
  'month', place_of(month_no, month_began_at), 'monthSpent', month_spent_nano,
  'allSpent', total_spent_nano
)
where calls <> 0 or total_spent_nano <> 0 or week_spent_nano <> 0 or month_spent_nano <> 0 or spent_nano <> 0;

update subscriptions s set counted_before = jsonb_build_object(
  'week', place_of(week_no, week_began_at), 'weekCalls', week_calls - (
    select count(*) from reservations r
    where r.account_id = s.account_id and r.subscription_id = s.id and r.week_no = s.week_no
  ),
  'period', place_of(period_no, period_began_at), 'periodTokens', period_tokens
)
where week_calls <> 0 or period_tokens <> 0;

drop function place_of(bigint, timestamptz);
