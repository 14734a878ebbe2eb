-- Limits that operators set for providers, routes and credentials (docs/decisions/0090-limits-of-providers.md).

-- home: directory

-- What each process has used of limited providers, routes and credentials since it started. Other processes add what is new.
create table limit_uses (
  node_id text not null,
  -- a provider, a route or a credential, as in LimitedUse.id
  subject text not null,
  requests bigint not null,
  tokens bigint not null,
  in_flight int not null,
  seen_at timestamptz not null,
  primary key (node_id, subject)
) with (fillfactor = 50);

-- home: partition

-- Cost of final calls by day in the billing time zone, each call summed once, as in usage_rollups.
create table route_costs (
  day date not null,
  model text not null,
  provider text not null,
  provider_model text not null,
  -- the credential, if its cost is limited; else empty
  credential text not null,
  cost_nano bigint not null,
  primary key (day, model, provider, provider_model, credential)
) with (fillfactor = 80);
