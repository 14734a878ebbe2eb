import { metricsOf } from './metric.ts';
import type { NodeFigures, NodeMetric, RouteFigures } from './node-figures.ts';

const STATES = ['closed', 'open', 'probing'] as const satisfies readonly RouteFigures['state'][];

const ofProvider = metricsOf(({ providers }: NodeFigures) => providers, { provider: ({ id }) => id });
const ofRoute = metricsOf(({ routes }: NodeFigures) => routes, {
  model: ({ model }) => model,
  provider: ({ provider }) => provider,
  provider_model: ({ providerModel }) => providerModel,
});

const ofLimit = metricsOf(({ providerLimits }: NodeFigures) => providerLimits, {
  provider: ({ provider }) => provider,
  of: ({ of }) => of,
  name: ({ name }) => name,
  limit: ({ limit }) => limit,
});
const ofVendorLimit = metricsOf(({ vendorLimits }: NodeFigures) => vendorLimits, {
  provider: ({ provider }) => provider,
  credential: ({ credential }) => credential,
  provider_model: ({ providerModel }) => providerModel,
  limit: ({ limit }) => limit,
});

export const providerMetrics: readonly NodeMetric[] = [
  ofProvider.sum('faregate_provider_calls_in_flight', 'calls', {
    help: 'Number of calls in flight at a provider.',
    value: ({ callsInFlight }) => callsInFlight,
  }),
  ofProvider.highest('faregate_provider_calls_max', 'calls', {
    help: 'Maximum number of calls in flight at a provider: its connections.',
    value: ({ callsMax }) => callsMax,
  }),
  ofProvider.sum('faregate_provider_calls_waiting', 'calls', {
    help: 'Number of calls in the queue of a provider.',
    value: ({ callsWaiting }) => callsWaiting,
  }),
  ofProvider.counter('faregate_provider_queue_refused_total', 'calls', {
    help: 'Number of calls that found the queue of a provider full, or timed out in it. A configuration change of the provider resets the number.',
    value: ({ callsRefused }) => callsRefused,
  }),
  ofProvider.sum('faregate_provider_connections_open', 'connections', {
    help: 'Number of open connections to a provider.',
    value: ({ connectionsOpen }) => connectionsOpen,
  }),
  {
    name: 'faregate_provider_credentials',
    ofWorkers: 'max',
    type: 'gauge',
    labels: ['provider', 'state'],
    unit: 'credentials',
    help: 'Number of credentials of a provider by state: active, resting (in a cooldown after a 429 for a model), refused by the provider, or missing (its command gives none).',
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
    help: 'State of the breaker of a route (closed, open, or probing): 1 for the current state, 0 for the others.',
    read: (node) =>
      node.routes.flatMap(({ model, provider, providerModel, state: current }) =>
        STATES.map((state) => ({ labels: [model, provider, providerModel, state], value: Number(state === current) })),
      ),
  },
  ofRoute.highest('faregate_route_accounts_left_out', 'accounts', {
    help: 'Number of accounts whose own breaker on a route is open, because their calls keep failing there.',
    value: ({ accountsLeftOut }) => accountsLeftOut,
  }),
  ofLimit.highest('faregate_provider_limit_used', '', {
    help: 'What is used of a limit of a provider, a route or a credential, by all nodes as this one knows: requests, tokens, calls, or yuan for dailyCostYuan and monthlyCostYuan.',
    value: ({ used }) => used,
  }),
  ofLimit.highest('faregate_provider_limit_max', '', {
    help: 'Value of a limit of a provider, a route or a credential.',
    value: ({ max }) => max,
  }),
  ofVendorLimit.lowest('faregate_provider_vendor_limit_remaining', '', {
    help: 'Remaining amount of a rate limit of the vendor (requests, tokens, input-tokens or output-tokens) for a credential and a model, by its last response, until the limit resets. Only for providers with vendorLimits: follow.',
    value: ({ remaining }) => remaining,
  }),
];
