import { toTimestamp } from '../../db/columns.ts';
import type { Statement, StoredRow } from '../../db/database.ts';
import { deleteInBatches, rowsBefore } from '../../db/expired-rows-store.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { countColumn, jsonbColumn, type RowOf, selection } from '../../db/table.ts';
import { ofEachPartition, type Routes } from '../partitions/routes.ts';
import { LIMITS_MS } from './latency-buckets.ts';
import { mergeGroups } from './merged-groups.ts';
import { sqlTimezone } from './sql-timezone.ts';

/** This file sums the latency of routes, and deletes hours past their retention. */

/** What latency can be grouped by, in the sort order of groups. Days are in the billing time zone, hours in UTC. */
const DIMENSIONS = {
  hour: `to_char(h.hour at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`,
  day: `to_char(h.hour at time zone $5::text, 'YYYY-MM-DD')`,
  model: 'h.model',
  provider: 'h.provider',
  providerModel: 'h.provider_model',
} as const;
export type LatencyDimension = keyof typeof DIMENSIONS;
export const latencyDimensions = Object.keys(DIMENSIONS) as readonly LatencyDimension[];

const histogram = (column: string): string =>
  `jsonb_build_array(${Array.from({ length: LIMITS_MS.length + 1 }, (_, i) => `sum(h.${column}[${i + 1}])`).join(', ')})`;

const SUMS = selection({
  attempts: countColumn('sum(h.attempts)::bigint as attempts'),
  errors: countColumn('sum(h.errors)::bigint as errors'),
  refused: countColumn('sum(h.refused)::bigint as refused'),
  outputTokens: countColumn('sum(h.output_tokens)::bigint as output_tokens'),
  generationMs: countColumn('sum(h.generation_ms)::bigint as generation_ms'),
  durations: jsonbColumn<readonly number[]>(`${histogram('durations')} as durations`),
  firstBytes: jsonbColumn<readonly number[]>(`${histogram('first_bytes')} as first_bytes`),
});

export interface LatencySums extends RowOf<typeof SUMS> {
  /** Values of the dimensions, in the order of `groupBy`. */
  readonly group: readonly string[];
}

interface LatencyQuery {
  /** What latency is grouped by, in the order of `latencyDimensions`. */
  readonly groupBy: readonly LatencyDimension[];
  /** Start of the interval in which hours begin; its end, `toMs`, is exclusive. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly model: string | null;
  readonly provider: string | null;
  readonly timezone: string;
}

/** Sums hours in one query: there is one row per route and hour, so even a year of many routes is small. Uses the primary key. */
const sumHours = (groupBy: readonly LatencyDimension[]): Statement => {
  const keys = groupBy.map((name) => `(${DIMENSIONS[name]} collate "C")`);
  const groups = keys.map((key, i) => `${key} as group_${i}, `).join('');
  return {
    name: `latency.sum-${latencyDimensions.map((name) => (groupBy.includes(name) ? 1 : 0)).join('')}`,
    text: `select ${groups}${SUMS.list}
from route_hours h
where h.hour >= $1::timestamptz and h.hour < $2::timestamptz and ($3::text is null or h.model = $3)
  and ($4::text is null or h.provider = $4) and $5::text is not null
${keys.length === 0 ? 'having count(*) > 0' : `group by ${keys.join(', ')} order by ${keys.join(', ')}`}
limit $6::int`,
  };
};

const deleteHours = rowsBefore('latency.delete-before', 'route_hours', 'hour', 'timestamptz');

export type LatencyStore = ReturnType<typeof createLatencyStore>;

export function createLatencyStore(partition: PartitionPool) {
  return {
    async sum(query: LatencyQuery, limit: number): Promise<readonly LatencySums[]> {
      const { groupBy, fromMs, toMs, model, provider, timezone } = query;
      const parameters = [toTimestamp(fromMs), toTimestamp(toMs), model, provider, sqlTimezone(timezone), limit];
      type Row = StoredRow & { readonly [key: `group_${number}`]: string };
      const rows = await partition.query<Row>(sumHours(groupBy), parameters);
      return rows.map((row) => ({ group: groupBy.map((_, i) => row[`group_${i}`]!), ...SUMS.read(row) }));
    },
    /** Deletes old hours in batches. After an abort, stops at the end of the current batch. */
    deleteBefore: (instantMs: number, signal: AbortSignal) =>
      deleteInBatches(partition, deleteHours, toTimestamp(instantMs), signal),
  };
}

export function joinedLatency(routes: Routes<LatencyStore>): LatencyStore {
  return {
    async sum(query, limit) {
      return mergeGroups(await ofEachPartition(routes, (latency) => latency.sum(query, limit)), limit);
    },
    async deleteBefore(instantMs, signal) {
      await ofEachPartition(routes, (latency) => latency.deleteBefore(instantMs, signal));
    },
  };
}
