import { LIMITS_MS } from './latency-buckets.ts';

/** This file sums the attempts of calls. A record describes the last attempt; its `failed_routes` lists the earlier ones. */

const KEY = ['hour', 'model', 'provider', 'provider_model'] as const;
const SUMS = ['attempts', 'errors', 'refused', 'output_tokens', 'generation_ms'] as const;
const HISTOGRAMS = ['durations', 'first_bytes'] as const;

const LIMITS = `array[${LIMITS_MS.join(', ')}]`;

const histogram = (bucket: string): string =>
  `array[${Array.from({ length: LIMITS_MS.length + 1 }, (_, i) => `count(*) filter (where ${bucket} = ${i})`).join(', ')}]`;

/** SQL: whether the provider rejected the client's request, as any other provider would. */
const IS_REFUSED = `c.status = 'failed' and c.http_status between 400 and 499 and c.http_status not in (401, 402, 403, 408, 429)`;
/** SQL: whether the attempt failed because of the route. A client that disconnects is not an error of the route. */
const IS_ERROR = `(c.status = 'failed' or (c.status = 'aborted' and c.error_code is not null)) and not (${IS_REFUSED})`;
/** Shorter streams, such as those whose tokens came in one event, have no rate. */
const GENERATION_MIN_MS = 100;
const TOOK_MS = `(extract(epoch from c.ended_at - c.started_at) * 1000)::int`;
const IS_WHOLE_STREAM = `c.is_stream and c.status = 'succeeded' and c.usage_source = 'observed' and c.output_tokens > 0
      and c.first_byte_ms is not null and ${TOOK_MS} - c.first_byte_ms >= ${GENERATION_MIN_MS}`;

/** SQL: sums attempts, except of resolved calls and calls without a healthy route. An attempt starts when the previous one fails. */
export const ADD_ATTEMPTS = `attempts as (
  select c.ended_at, c.model, c.provider, c.provider_model,
    (case when ${IS_ERROR} then 1 else 0 end) as errors, (case when ${IS_REFUSED} then 1 else 0 end) as refused,
    case when c.status = 'succeeded' then width_bucket(${TOOK_MS} - b.began_ms, ${LIMITS}) end as duration,
    width_bucket(c.first_byte_ms - b.began_ms, ${LIMITS}) as first_byte,
    (case when ${IS_WHOLE_STREAM} then c.output_tokens else 0 end) as output_tokens,
    (case when ${IS_WHOLE_STREAM} then ${TOOK_MS} - c.first_byte_ms else 0 end) as generation_ms
  from final_calls c
  cross join lateral (
    select case when c.failed_routes is null then 0 else (c.failed_routes -> -1 ->> 'afterMs')::int end as began_ms
  ) b
  where c.status not in ('resolved', 'unresolved') and c.error_code is distinct from 'MODEL_ROUTING_NO_HEALTHY_ROUTE'
  union all
  select c.ended_at, c.model, f.provider, f.model, 1, 0, null, null, 0, 0
  from final_calls c cross join lateral jsonb_to_recordset(c.failed_routes) as f (provider text, model text)
  where c.failed_routes is not null and c.status <> 'resolved'
),
by_route as (
  insert into route_hours as t (${[...KEY, ...SUMS, ...HISTOGRAMS].join(', ')})
  select date_trunc('hour', ended_at, 'UTC') as hour, model, provider, provider_model,
    count(*), sum(errors), sum(refused), sum(output_tokens), sum(generation_ms),
    ${histogram('duration')}, ${histogram('first_byte')}
  from attempts group by hour, model, provider, provider_model order by hour, model, provider, provider_model
  on conflict (${KEY.join(', ')}) do update set
    ${SUMS.map((name) => `${name} = t.${name} + excluded.${name}`).join(', ')},
    ${HISTOGRAMS.map(
      (name) => `${name} = (
      select array_agg(before + added order by place)
      from unnest(t.${name}, excluded.${name}) with ordinality as each (before, added, place)
    )`,
    ).join(', ')}
)`;
