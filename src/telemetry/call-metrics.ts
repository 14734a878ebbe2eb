import { formatYuan } from '../lib/yuan.ts';
import { type UnitName, unitNames, usageUnits } from '../protocols/metering/usage-units.ts';
import type { CallCounts, RouteCounts } from './call-counts.ts';
import { histogram, metricsOf, type ReadMetric, type Sample, SLOW_BUCKETS } from './metric.ts';

const ofRoute = metricsOf((counts: CallCounts) => counts.routes(), {
  model: ({ model }) => model,
  provider: ({ provider }) => provider,
});

/** Yields samples by unit, without units that a route has not used. */
function* byUnit(counts: CallCounts, shows: (name: UnitName) => boolean): Iterable<Sample> {
  for (const route of counts.routes()) {
    for (const [index, name] of unitNames.entries()) {
      const value = route.units[index]!;
      if (value > 0 && shows(name)) yield { labels: [...labelsOf(route), unitLabel(name)], value };
    }
  }
}

/** Returns the label of a unit: `cacheWrite1hTokens` becomes `cache_write_1h`. */
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

export const callMetrics: readonly ReadMetric<CallCounts>[] = [
  {
    name: 'faregate_requests_total',
    type: 'counter',
    labels: ['kind', 'http_status'],
    unit: 'requests',
    help:
      'Number of requests by kind and response status; the status is none if the client disconnected before a response. A ' +
      'request is counted when its response is closed and its call, if any, has ended.',
    read: ({ requests }) => pairs(requests),
  },
  {
    name: 'faregate_calls_total',
    type: 'counter',
    labels: ['model', 'provider', 'status', 'code'],
    unit: 'calls',
    help:
      'Number of calls by their end: succeeded, failed or aborted, as in the call record; refused before admission; or ' +
      'repeated, with the stored response of an earlier call. The code is the error code, or none.',
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
    help: 'Number of tokens of calls, as in the call records, by kind. The kinds are disjoint, so their numbers can be added.',
    read: (counts) => byUnit(counts, isToken),
  },
  ofRoute.counter('faregate_reasoning_tokens_total', 'tokens', {
    help: 'Number of reasoning tokens. They are included in the output tokens.',
    value: ({ units }) => units[REASONING]!,
  }),
  {
    name: 'faregate_other_usage_total',
    type: 'counter',
    labels: ['model', 'provider', 'unit'],
    unit: 'uses',
    help: 'Usage other than tokens, such as searches, by unit.',
    read: (counts) => byUnit(counts, isOther),
  },
  ofRoute.counter('faregate_charged_yuan_total', 'yuan', {
    help: 'Sum of the charges of calls, as in the ledger.',
    value: ({ chargedNano }) => Number(formatYuan(chargedNano)),
  }),
  ofRoute.counter('faregate_response_chunks_total', 'chunks', {
    help: 'Number of chunks of provider responses that were relayed.',
    value: ({ chunks }) => chunks,
  }),
  ofRoute.counter('faregate_calls_estimated_total', 'calls', {
    help: 'Number of calls whose usage was estimated because the provider did not report all of it. Most of them are aborted streams.',
    value: ({ estimated }) => estimated,
  }),
  ofRoute.counter('faregate_streams_without_usage_total', 'calls', {
    help: 'Number of completed streams whose usage was estimated because their provider does not report usage.',
    value: ({ streamsWithoutUsage }) => streamsWithoutUsage,
  }),
  ofRoute.counter('faregate_calls_unpriced_total', 'calls', {
    help: 'Number of calls with usage for which their model has no price. GET /admin/v1/unpriced lists this usage.',
    value: ({ unpriced }) => unpriced,
  }),
  {
    name: 'faregate_calls_translated_total',
    type: 'counter',
    labels: ['model', 'provider', 'from', 'to'],
    unit: 'calls',
    help: 'Number of calls whose request was translated, by the operations of client and provider.',
    *read(counts) {
      for (const route of counts.routes()) {
        for (const { labels, value } of pairs(route.translated))
          yield { labels: [...labelsOf(route), ...labels], value };
      }
    },
  },
  {
    name: 'faregate_translated_members_total',
    type: 'counter',
    labels: ['from', 'to', 'effect', 'member'],
    unit: 'calls',
    help:
      'Number of translated calls in which a field of the request was left out or added, by the operations of client and provider. The ' +
      'member is other if it is not in the tables of the translation.',
    *read({ translatedMembers }) {
      for (const { labels, calls } of translatedMembers.values()) yield { labels, value: calls };
    },
  },
  ofRoute.counter('faregate_calls_excess_usage_total', 'calls', {
    help: 'Number of calls whose provider reported more usage than is possible. The excess is not charged.',
    value: ({ excess }) => excess,
  }),
  {
    name: 'faregate_provider_failures_total',
    type: 'counter',
    labels: ['provider', 'code'],
    unit: 'attempts',
    help: 'Number of failed attempts at providers by error code, including attempts after which another route took the call.',
    read: ({ providerFailures }) => pairs(providerFailures),
  },
];

export const callHistograms = {
  duration: histogram('faregate_call_duration_seconds', 'seconds', SLOW_BUCKETS, {
    labels: ['model', 'provider'],
    help: 'Time from the arrival of a call to the end of its response.',
  }),
  firstByte: histogram('faregate_call_first_byte_seconds', 'seconds', SLOW_BUCKETS, {
    labels: ['model', 'provider'],
    help: "Time from the start of a call to the first byte of the provider's response.",
  }),
};
