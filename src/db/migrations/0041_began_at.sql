-- exclusive: nodes of earlier versions count by days, and by numbers of weeks and periods.
-- What is counted of a day, a week, a month or a period is counted since an instant: the beginning of it by the terms that were in
-- force then (docs/decisions/0010-plan-windows.md). A number or a date depends on terms (the length of the period, the time zone)
-- and says nothing once these have changed.
--
-- Lengths of periods and the time zone stand in the configuration, which a migration does not know. So a count gets an instant of
-- which it is known that it is in the counted day, week or period: where that one still runs, whatever the terms are, it goes on
-- and nobody gets it twice; where it is over, the next one begins.

-- The first and the last instant that a date may have in any time zone: from UTC+14 to UTC-12.
create function first_of(day date) returns timestamptz immutable language sql as
  $body$ select (day::timestamp at time zone 'UTC') - interval '14 hours' $body$;
create function last_of(day date) returns timestamptz immutable language sql as
  $body$ select (day::timestamp at time zone 'UTC') + interval '35 hours 59 minutes' $body$;

-- The day of an account is that of its last charge. Plan: ledger_entries by primary key, backwards to that entry.
alter table balances add column day_began_at timestamptz not null default '1970-01-01T00:00:00Z';
update balances b set day_began_at = date_trunc('milliseconds', least(greatest(coalesce((
  select e.created_at from ledger_entries e
  where e.account_id = b.account_id and e.kind = 'charge' order by e.entry_no desc limit 1
), first_of(b.spent_on)), first_of(b.spent_on)), last_of(b.spent_on)))
where b.spent_on > '1970-01-01';

-- The day of a key is that of its last call. Its week and its month are those of this day.
alter table key_limits
  add column day_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  add column week_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  add column month_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  -- how many days were begun: reservations name the one in which they were counted
  add column day_no bigint not null default 0;
-- Days that were over when the last node ran need no call. Plan: reservations of the account, calls by primary key, backwards from the
-- newest one to that of the key, of some days.
update key_limits l set day_began_at = date_trunc('milliseconds', least(greatest(
  (
    select max(r.reserved_at) from reservations r
    where r.account_id = l.account_id and r.key_id = l.key_id and r.key_day = l.day
  ),
  case when l.day >= (select coalesce(max(seen_at), now()) - interval '3 days' from nodes) then (
    select c.ended_at from calls c
    where c.account_id = l.account_id and c.key_id = l.key_id and c.started_at >= first_of(l.day) - interval '1 day'
    order by c.id desc limit 1
  ) end,
  first_of(l.day)
), last_of(l.day)))
where l.day > '1970-01-01';
update key_limits set week_began_at = day_began_at, month_began_at = day_began_at;

alter table reservations add column key_day_no bigint;
update reservations r set key_day_no = case when r.key_day = l.day then 0 else -1 end
from key_limits l where l.account_id = r.account_id and l.key_id = r.key_id and r.key_day is not null;

alter table balances drop column spent_on;
alter table key_limits drop column day;
alter table reservations drop column key_day;

-- week_no and period_no, which reservations name, say from now on how many weeks and periods were begun, not which ones.
alter table subscriptions
  add column week_began_at timestamptz not null default '1970-01-01T00:00:00Z',
  add column period_began_at timestamptz not null default '1970-01-01T00:00:00Z';
-- Weeks are seven days from the anchor.
update subscriptions set week_began_at = starts_at + week_no * interval '168 hours';
-- The first period begins with the anchor. A later one is that of the last call, which is in the counted week; where no call is on
-- record, it is no older than that week. Plan: calls by primary key, backwards from the newest one to the last coding call.
update subscriptions s set period_began_at = case
  when s.period_no = 0 then s.starts_at
  when s.canceled_at is not null or s.ends_at < now() then s.week_began_at
  else date_trunc('milliseconds', least(greatest(coalesce((
    select c.started_at from calls c
    where c.account_id = s.account_id and c.context = 'coding' and c.started_at >= s.week_began_at
    order by c.id desc limit 1
  ), now()), s.week_began_at), s.week_began_at + interval '167 hours 59 minutes'))
  end;

drop function first_of(date);
drop function last_of(date);

-- The fill of the buckets of a minute behind a call, by which its end knows what of its tokens has not drained; null where it took none.
alter table reservations add column rate_fills text;
