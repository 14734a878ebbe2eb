import { each, type MetricRow } from './metric.ts';
import type { NodeMetric, ProviderFigures, RouteFigures } from './node-figures.ts';

const STATES = ['closed', 'open', 'probing'] as const satisfies readonly RouteFigures['state'][];

type ProviderMetric = Omit<MetricRow, 'labels'> & {
  type: 'counter' | 'gauge';
  value(provider: ProviderFigures): number;
};

function byProvider({ value, ...row }: ProviderMetric): NodeMetric {
  return { ...row, labels: ['provider'], read: ({ providers }) => each(providers, ({ id }) => [id], value) };
}

/** Providers, their credentials, and the breakers of routes. */
export const providerMetrics: readonly NodeMetric[] = [
  byProvider({
    type: 'gauge',
    name: 'faregate_provider_calls_in_flight',
    ofWorkers: 'sum',
    unit: 'calls',
    help: 'Calls under way at a provider.',
    value: ({ callsUnderWay }) => callsUnderWay,
  }),
  byProvider({
    type: 'gauge',
    name: 'faregate_provider_calls_max',
    ofWorkers: 'max',
    unit: 'calls',
    help: 'The most of them: the connections of the provider.',
    value: ({ callsMax }) => callsMax,
  }),
  byProvider({
    type: 'gauge',
    name: 'faregate_provider_calls_waiting',
    ofWorkers: 'sum',
    unit: 'calls',
    help: 'Calls in the queue of a provider.',
    value: ({ callsWaiting }) => callsWaiting,
  }),
  byProvider({
    type: 'counter',
    name: 'faregate_provider_queue_refused_total',
    unit: 'calls',
    help: 'Calls that found no place in the queue, or waited in it for as long as they may. A change of the provider begins anew.',
    value: ({ callsRefused }) => callsRefused,
  }),
  byProvider({
    type: 'gauge',
    name: 'faregate_provider_connections_open',
    ofWorkers: 'sum',
    unit: 'connections',
    help: 'Open connections to a provider.',
    value: ({ connectionsOpen }) => connectionsOpen,
  }),
  {
    name: 'faregate_provider_credentials',
    ofWorkers: 'max',
    type: 'gauge',
    labels: ['provider', 'state'],
    unit: 'credentials',
    help: 'Credentials of a provider: active, resting after a 429 for one of its models, or refused by the provider.',
    read: (node) =>
      node.providers.flatMap(({ id, credentials }) =>
        Object.entries(credentials).map(([state, value]) => ({ labels: [id, state], value })),
      ),
  },
  {
    name: 'faregate_route_breaker_state',
    ofWorkers: 'max',
    type: 'gauge',
    labels: ['model', 'provider', 'provider_model', 'state'],
    unit: '',
    help: 'Whether the breaker of a route is closed, open, or letting a probe through: 1 for its state, 0 for the others.',
    read: (node) =>
      node.routes.flatMap(({ model, provider, providerModel, state: current }) =>
        STATES.map((state) => ({ labels: [model, provider, providerModel, state], value: Number(state === current) })),
      ),
  },
  {
    name: 'faregate_route_accounts_left_out',
    ofWorkers: 'max',
    type: 'gauge',
    labels: ['model', 'provider', 'provider_model'],
    unit: 'accounts',
    help: 'Accounts that are not let through over a route, because their own calls keep failing there.',
    read: (node) =>
      each(
        node.routes,
        ({ model, provider, providerModel }) => [model, provider, providerModel],
        ({ accountsLeftOut }) => accountsLeftOut,
      ),
  },
];
