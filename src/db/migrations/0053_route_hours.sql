-- Latency and errors of routes by the hour in which calls ended, computed in the background from call records, including attempts replaced
-- by another route (docs/operations/latency.md). Kept for retention.latency.

-- home: partition

create table route_hours (
  hour timestamptz not null,
  model text not null,
  provider text not null,
  provider_model text not null,
  attempts bigint not null,
  -- failed attempts, and those in which the provider refused the request itself
  errors bigint not null,
  refused bigint not null,
  -- histograms of duration and of time to the first byte; their limits are in src/accounting/usage/latency-buckets.ts
  durations bigint[] not null,
  first_bytes bigint[] not null,
  -- for complete streams: output tokens, and milliseconds from the first byte to the end
  output_tokens bigint not null,
  generation_ms bigint not null,
  primary key (hour, model, provider, provider_model)
);
