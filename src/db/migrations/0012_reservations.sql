-- What a charge does not say by itself: usage beyond what the call can have used, and other models that it used. A JSON
-- object; null where there is nothing to say.
alter table calls add column notes jsonb;

-- Tokens of a plan that its calls in flight may use: each call's, and those of the period that period_tokens counts.
alter table plan_holds add column tokens bigint not null default 0 check (tokens >= 0);
alter table subscriptions add column period_held_tokens bigint not null default 0 check (period_held_tokens >= 0);

-- The size of a response: what a call that continues it reads. null: not known.
alter table affinities add column total_tokens bigint;
