-- What takes no new calls until it is resumed: a provider, a model at a provider, or one route. The empty text stands for all:
-- it is part of the key, and no model has that name.
create table route_drains (
  provider text not null,
  model text not null,
  provider_model text not null,
  reason text,
  drained_by text not null,
  drained_at timestamptz not null,
  primary key (provider, model, provider_model)
);
