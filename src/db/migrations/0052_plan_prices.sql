-- The prices of Coding Plan periods, recorded when a plan with a price is granted or renewed, and never changed. Margins spread them over
-- the days of the period (docs/usage.md).

-- home: partition

create table plan_periods (
  account_id text not null,
  subscription_id text not null,
  starts_at timestamptz not null,
  -- first day in the billing time zone of that time, and number of days
  first_day date not null,
  days int not null check (days > 0),
  price_nano bigint not null check (price_nano >= 0),
  primary key (account_id, subscription_id, starts_at)
);
create index plan_periods_by_end on plan_periods ((first_day + days));
