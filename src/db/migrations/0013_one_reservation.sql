-- exclusive: nodes of earlier versions know other tables, so they have to be gone.
-- One reservation a call: what it may use from its admission to its end, whatever limits it.
create table reservations (
  account_id text not null,
  call_id text not null,
  key_id text not null,
  model text not null,
  node_id text not null,
  reserved_at timestamptz not null,
  -- what is known of a call when it is admitted, as a list in JSON; text, because it is read only where a node died
  facts text not null,
  -- of the balance; null on a Coding Plan
  amount_nano bigint check (amount_nano >= 0),
  -- of a Coding Plan; null on the balance
  subscription_id text,
  week_no bigint,
  period_no bigint,
  tokens bigint check (tokens >= 0),
  -- of the limits of the key; null where it has none
  key_amount_nano bigint check (key_amount_nano >= 0),
  key_day date,
  primary key (account_id, call_id)
);

insert into reservations (
  account_id, call_id, key_id, model, node_id, reserved_at, facts, amount_nano, subscription_id, week_no, period_no, tokens,
  key_amount_nano, key_day
)
select account_id, call_id, coalesce(h.key_id, p.key_id, k.key_id), coalesce(h.model, p.model, ''),
  coalesce(h.node_id, p.node_id, k.node_id), coalesce(h.held_at, p.held_at, k.held_at), coalesce(h.facts, p.facts, '[]'),
  h.amount_nano, p.subscription_id, p.week_no, p.period_no, p.tokens, k.amount_nano, k.day
from holds h
full join plan_holds p using (account_id, call_id)
full join key_holds k using (account_id, call_id);

drop table holds;
drop table plan_holds;
drop table key_holds;

alter table balances rename column held_nano to reserved_nano;
alter table key_limits rename column held_nano to reserved_nano;
alter table subscriptions rename column period_held_tokens to period_reserved_tokens;
alter table calls rename column held_nano to reserved_nano;

-- Responses that are stored for repeats of calls with an Idempotency-Key. They are stored before the call is settled, and
-- are valid from the transaction on that settles it.
alter table kept_answers add column is_valid boolean not null default false;
update kept_answers k set is_valid = true
from calls c
where c.account_id = k.account_id and c.id = k.call_id and c.started_at = k.call_started_at
  and c.status = case when k.head ? 'error' then 'failed' else 'succeeded' end;
alter table kept_answers drop column call_id;
alter table kept_answers drop column call_started_at;
alter table kept_answers rename to stored_responses;
alter index kept_answers_by_expiry rename to stored_responses_by_expiry;
alter index kept_answers_by_claim rename to stored_responses_by_claim;

-- What a later call may refer to: state at a provider, and the provider that made it.
alter table affinities rename to continuation_keys;
alter index affinities_by_age rename to continuation_keys_by_age;
