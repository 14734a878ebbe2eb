import { z } from 'zod';
import { percentileMs } from '../../accounting/usage/latency-buckets.ts';
import {
  type LatencyDimension,
  type LatencyStore,
  type LatencySums,
  latencyDimensions,
} from '../../accounting/usage/latency-store.ts';
import type { Clock } from '../../lib/clock.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { LineStream } from '../management/endpoint.ts';
import { readGroupBy } from '../management/group-by.ts';
import { CSV_TYPE, csvOf } from '../management/list-csv.ts';
import { at, count, listOf } from '../management/response-fields.ts';
import { filterText, instant } from '../management/wire.ts';

interface LatencyAdminDependencies {
  readonly latency: Pick<LatencyStore, 'sum'>;
  readonly clock: Clock;
  readonly timezone: () => string;
}

const latencyQuery = z.strictObject({
  groupBy: filterText.default('model,provider,providerModel'),
  from: instant.optional(),
  to: instant.optional(),
  model: filterText.optional(),
  provider: filterText.optional(),
});

const percentiles = z.strictObject({ p50: z.int().nullable(), p95: z.int().nullable() });

const group = z.string().optional();
const latencyRow = z
  .strictObject({
    hour: group,
    day: group,
    model: group,
    provider: group,
    providerModel: group,
    attempts: count.describe('Includes attempts that failed over to another route.'),
    errors: count,
    refused: count.describe('Requests that the provider refused; not counted as errors of the route.'),
    errorRatio: z.number().nullable().describe('Errors divided by attempts; null: no attempts.'),
    durationMs: percentiles.describe('Total time of successful attempts.'),
    firstByteMs: percentiles.describe('Time to the first byte, for attempts that received one.'),
    outputTokens: count.describe(
      'Output tokens of complete streams of which the rest took 100 ms or more after the first byte.',
    ),
    tokensPerSecond: z
      .number()
      .nullable()
      .describe('Output tokens per second of these streams, from the first byte to the end; null: none.'),
  })
  .meta({ id: 'LatencyGroup', description: 'Attempts of a group. It has a member for each requested dimension.' });
export type LatencyRow = z.infer<typeof latencyRow>;

const latencyResponse = z.strictObject({
  data: listOf(latencyRow),
  isCut: z.boolean().describe('Whether there are more groups.'),
  from: at,
  to: at,
  timezone: z.string(),
});
export type LatencyResponse = z.infer<typeof latencyResponse>;

const GROUPS_MAX = 5_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function latencyEndpoints({ latency, clock, timezone }: LatencyAdminDependencies): AdminEndpoint[] {
  return [
    adminEndpoint({
      method: 'GET',
      path: '/latency',
      summary:
        'Latency, time to first byte, errors and tokens per second of routes, by hour, day, model or provider; also as CSV',
      query: latencyQuery,
      response: latencyResponse,
      lines: { mediaType: 'text/csv', description: 'The same data as CSV, if the request accepts text/csv.' },
      async run({ query: { groupBy: names, from, to, model = null, provider = null }, wantsCsv }) {
        const groupBy = readDimensions(names);
        const toMs = to?.getTime() ?? clock.nowMs() + HOUR_MS;
        // The range starts at a full hour. By default, it ends with the current hour.
        const fromMs = Math.floor((from?.getTime() ?? toMs - HOUR_MS - DAY_MS) / HOUR_MS) * HOUR_MS;
        const query = { groupBy, fromMs, toMs, model, provider, timezone: timezone() };
        const found = await latency.sum(query, GROUPS_MAX + 1);
        const data = found.slice(0, GROUPS_MAX).map((sums) => toWire(sums, groupBy));
        if (wantsCsv) return LineStream.of(csv(data, groupBy), CSV_TYPE);
        return {
          data,
          isCut: found.length > GROUPS_MAX,
          from: new Date(fromMs).toISOString(),
          to: new Date(toMs).toISOString(),
          timezone: query.timezone,
        };
      },
    }),
  ];
}

function readDimensions(text: string): readonly LatencyDimension[] {
  const names = readGroupBy(text, latencyDimensions);
  return latencyDimensions.filter((name) => names.includes(name));
}

function toWire(sums: LatencySums, groupBy: readonly LatencyDimension[]): LatencyRow {
  const { attempts, errors, refused, outputTokens, generationMs } = sums;
  return {
    ...Object.fromEntries(groupBy.map((name, i) => [name, sums.group[i]!])),
    attempts,
    errors,
    refused,
    errorRatio: attempts === 0 ? null : rounded(errors / attempts, 4),
    durationMs: percentilesOf(sums.durations),
    firstByteMs: percentilesOf(sums.firstBytes),
    outputTokens,
    tokensPerSecond: generationMs === 0 ? null : rounded((outputTokens * 1_000) / generationMs, 1),
  };
}

function percentilesOf(counts: readonly number[]): z.infer<typeof percentiles> {
  const at = (share: number): number | null => {
    const ms = percentileMs(counts, share);
    return ms === null ? null : Math.round(ms);
  };
  return { p50: at(0.5), p95: at(0.95) };
}

const rounded = (value: number, decimals: number): number => Number(value.toFixed(decimals));

function csv(rows: readonly LatencyRow[], groupBy: readonly LatencyDimension[]): string {
  const { titles, lineOf } = csvOf([...groupBy, ...FIGURES]);
  const lines = rows.map(({ durationMs, firstByteMs, ...row }) =>
    lineOf({
      ...row,
      durationP50Ms: durationMs.p50,
      durationP95Ms: durationMs.p95,
      firstByteP50Ms: firstByteMs.p50,
      firstByteP95Ms: firstByteMs.p95,
    }),
  );
  return [titles, ...lines].join('');
}

const FIGURES = [
  ...['attempts', 'errors', 'refused', 'errorRatio', 'durationP50Ms', 'durationP95Ms'],
  ...['firstByteP50Ms', 'firstByteP95Ms', 'outputTokens', 'tokensPerSecond'],
];
