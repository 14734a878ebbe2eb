-- How fast routes respond and how often they fail, by the hour in which calls ended: made in the background from call records, with those
-- attempts that another route replaced (docs/operations/latency.md). Kept for retention.latency.

-- home: partition

create table route_hours (
  hour timestamptz not null,
  model text not null,
  provider text not null,
  provider_model text not null,
  attempts bigint not null,
  -- of them those that failed, and those in which the provider refused the request itself
  errors bigint not null,
  refused bigint not null,
  -- attempts by how long they took, and by when the first byte came: the limits are in src/accounting/usage/latency-buckets.ts
  durations bigint[] not null,
  first_bytes bigint[] not null,
  -- of streams that were whole: output tokens, and the milliseconds from the first byte to the end
  output_tokens bigint not null,
  generation_ms bigint not null,
  primary key (hour, model, provider, provider_model)
);
