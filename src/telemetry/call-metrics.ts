import { formatYuan } from '../lib/yuan.ts';
import { type UnitName, unitNames, usageUnits } from '../protocols/metering/usage-units.ts';
import type { CallCounts, RouteCounts } from './call-counts.ts';
import { histogram, metricsOf, type ReadMetric, type Sample, SLOW_BUCKETS } from './metric.ts';

const ofRoute = metricsOf((counts: CallCounts) => counts.routes(), {
  model: ({ model }) => model,
  provider: ({ provider }) => provider,
});

/** A sample for each unit of a route that was used. */
function* byUnit(counts: CallCounts, shows: (name: UnitName) => boolean): Iterable<Sample> {
  for (const route of counts.routes()) {
    for (const [index, name] of unitNames.entries()) {
      const value = route.units[index]!;
      if (value > 0 && shows(name)) yield { labels: [...labelsOf(route), unitLabel(name)], value };
    }
  }
}

/** `cacheWrite1hTokens` is `cache_write_1h`. */
export function unitLabel(name: UnitName): string {
  return name
    .replace(/Tokens$/, '')
    .replace(/([A-Z]|\d+)/g, '_$1')
    .toLowerCase();
}

const labelsOf = ({ model, provider }: RouteCounts): readonly string[] => [model, provider];
const isToken = (name: UnitName): boolean => ['input', 'output'].includes(usageUnits[name].side);
const isOther = (name: UnitName): boolean => usageUnits[name].side === 'other';
const REASONING = unitNames.indexOf('reasoningTokens');

function* pairs(counts: ReadonlyMap<string, ReadonlyMap<string, number>>): Iterable<Sample> {
  for (const [outer, inner] of counts) for (const [label, value] of inner) yield { labels: [outer, label], value };
}

/** Requests and calls, counted from their reports. */
export const callMetrics: readonly ReadMetric<CallCounts>[] = [
  {
    name: 'faregate_requests_total',
    type: 'counter',
    labels: ['kind', 'http_status'],
    unit: 'requests',
    help:
      'Requests by what they were for, and the status that was sent; none if the client left before. Counted when the ' +
      'response is closed and the call, if any, has ended.',
    read: ({ requests }) => pairs(requests),
  },
  {
    name: 'faregate_calls_total',
    type: 'counter',
    labels: ['model', 'provider', 'status', 'code'],
    unit: 'calls',
    help:
      'Calls by how they ended: succeeded, failed, aborted as on record; refused before admission; repeated, with the stored ' +
      'response of an earlier call. The code is that of the error, none if there was none.',
    *read(counts) {
      for (const route of counts.routes()) {
        for (const [end, codes] of route.ends) {
          for (const [code, value] of codes) yield { labels: [...labelsOf(route), end, code], value };
        }
      }
    },
  },
  {
    name: 'faregate_tokens_total',
    type: 'counter',
    labels: ['model', 'provider', 'kind'],
    unit: 'tokens',
    help: 'Tokens of calls by kind, as on record. The kinds are disjoint: their sum is what was read and written.',
    read: (counts) => byUnit(counts, isToken),
  },
  ofRoute.counter('faregate_reasoning_tokens_total', 'tokens', {
    help: 'The output tokens among them that were reasoning.',
    value: ({ units }) => units[REASONING]!,
  }),
  {
    name: 'faregate_other_usage_total',
    type: 'counter',
    labels: ['model', 'provider', 'unit'],
    unit: 'uses',
    help: 'What calls used beside tokens, such as searches, by the unit in which the provider counts it.',
    read: (counts) => byUnit(counts, isOther),
  },
  ofRoute.counter('faregate_charged_yuan_total', 'yuan', {
    help: 'What was charged for calls, as in the ledger.',
    // The nearest number to the exact sum.
    value: ({ chargedNano }) => Number(formatYuan(chargedNano)),
  }),
  ofRoute.counter('faregate_response_chunks_total', 'chunks', {
    help: 'Pieces of responses of providers that were passed on.',
    value: ({ chunks }) => chunks,
  }),
  ofRoute.counter('faregate_calls_estimated_total', 'calls', {
    help: 'Calls whose usage was estimated, because the provider had not reported all of it: most are aborted streams.',
    value: ({ estimated }) => estimated,
  }),
  ofRoute.counter('faregate_streams_without_usage_total', 'calls', {
    help: 'Of those, streams that came to their end: their provider does not report usage.',
    value: ({ streamsWithoutUsage }) => streamsWithoutUsage,
  }),
  ofRoute.counter('faregate_calls_unpriced_total', 'calls', {
    help: 'Calls that used something for which the price list of their model has no price; GET /admin/v1/unpriced names it.',
    value: ({ unpriced }) => unpriced,
  }),
  ofRoute.counter('faregate_calls_excess_usage_total', 'calls', {
    help: 'Calls whose provider reported more than they can have used; the excess is not charged.',
    value: ({ excess }) => excess,
  }),
  {
    name: 'faregate_provider_failures_total',
    type: 'counter',
    labels: ['provider', 'code'],
    unit: 'attempts',
    help: 'Attempts that failed, also if another route took the call; the code is that of their error.',
    read: ({ providerFailures }) => pairs(providerFailures),
  },
];

/** The times of calls. */
export const callHistograms = {
  duration: histogram('faregate_call_duration_seconds', 'seconds', SLOW_BUCKETS, {
    labels: ['model', 'provider'],
    help: 'From the arrival of a call to the end of its response.',
  }),
  firstByte: histogram('faregate_call_first_byte_seconds', 'seconds', SLOW_BUCKETS, {
    labels: ['model', 'provider'],
    help: "From the beginning of a call to the first byte of the provider's response.",
  }),
};
