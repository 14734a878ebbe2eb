-- exclusive: nodes of earlier versions count the day alone.
-- What a key may spend in a week, a month and in all, beside a day, and what of it is spent.
alter table key_limits
  -- null: not limited
  add column weekly_spend_cap_nano bigint check (weekly_spend_cap_nano >= 0),
  add column monthly_spend_cap_nano bigint check (monthly_spend_cap_nano >= 0),
  add column total_spend_cap_nano bigint check (total_spend_cap_nano >= 0),
  -- of the week (from Monday) and the month that the column day is in, and since the key has limits
  add column week_spent_nano bigint not null default 0,
  add column month_spent_nano bigint not null default 0,
  add column total_spent_nano bigint not null default 0;
update key_limits set week_spent_nano = spent_nano, month_spent_nano = spent_nano, total_spent_nano = spent_nano;
