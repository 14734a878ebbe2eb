-- What the periods of Coding Plans were sold for: noted when a plan with a price is granted or renewed, and never changed. It charges
-- nothing; margins spread it over the days of the period (docs/usage.md).

-- home: partition

create table plan_periods (
  account_id text not null,
  subscription_id text not null,
  starts_at timestamptz not null,
  -- of the billing time zone that was in force then, and how many days it is spread over
  first_day date not null,
  days int not null check (days > 0),
  price_nano bigint not null check (price_nano >= 0),
  primary key (account_id, subscription_id, starts_at)
);
create index plan_periods_by_end on plan_periods ((first_day + days));
