-- exclusive: nodes of earlier versions do not record what their calls count for, and the counters would be above their records.
-- What each charge counts for, so that an audit can recompute the counters (docs/decisions/0037-lists-and-audits-at-size.md).
alter table ledger_entries
  -- of a charge: the day on which the account counts it as spent; null: the record is of an earlier version
  add column spent_on date,
  -- the key whose budgets count it, and the day on which; null: none does
  add column key_id text,
  add column key_day date;

-- What the call counts for in windows, quotas and calls of a day, as JSON; null: nothing, or the record is of an earlier version.
alter table calls add column counted jsonb;

-- How many records of calls count here; each has its number.
alter table subscriptions add column use_no bigint not null default 0;
alter table key_limits add column use_no bigint not null default 0;

-- What had been counted that no record says, as JSON: by earlier versions, or by the key that this one replaced; null: nothing.
alter table balances add column counted_before jsonb;
alter table key_limits add column counted_before jsonb;
alter table subscriptions add column counted_before jsonb;

update balances set counted_before = jsonb_build_object('day', spent_on, 'spent', spent_nano) where spent_nano <> 0;

update key_limits l set counted_before = jsonb_build_object(
  'day', day, 'spent', spent_nano, 'week', week_spent_nano, 'month', month_spent_nano, 'all', total_spent_nano,
  'calls', calls - (
    select count(*) from reservations r where r.account_id = l.account_id and r.key_id = l.key_id and r.key_day = l.day
  )
)
where day > '1970-01-01';

update subscriptions s set counted_before = jsonb_build_object(
  'week', week_no, 'weekCalls', week_calls - (
    select count(*) from reservations r
    where r.account_id = s.account_id and r.subscription_id = s.id and r.week_no = s.week_no
  ),
  'period', period_no, 'periodTokens', period_tokens
)
where week_no > 0 or week_calls > 0 or period_no > 0 or period_tokens > 0;
