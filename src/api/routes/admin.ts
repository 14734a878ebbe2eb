import { z } from 'zod';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { allRoutes, type Catalog, type Model, type Route } from '../../providers/catalog/catalog.ts';
import type { LimitedSubject } from '../../providers/limits/provider-limits.ts';
import { withoutDrained } from '../../providers/routing/choose.ts';
import type { Drain, DrainTarget } from '../../providers/routing/drains/drain-store.ts';
import { DRAINS_MAX, type Drains } from '../../providers/routing/drains/drains.ts';
import type { RouteHealth } from '../../providers/routing/health.ts';
import type { CredentialStatus } from '../../providers/upstream/credentials.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { conflict } from '../management/endpoint.ts';
import { operatorOf } from '../management/operator.ts';
import { count, listOf } from '../management/response-fields.ts';
import { filterText, shortText } from '../management/wire.ts';
import { drainMembers, drainToWire, limitsResponse, limitToWire, routeResponse, routeToWire } from './wire.ts';

interface RouteAdminDependencies {
  readonly health: RouteHealth;
  readonly catalog: () => Catalog;
  readonly credentialsOf: (route: Route) => readonly CredentialStatus[];
  /** The limits in force; empty: there are none. */
  readonly limits: () => readonly LimitedSubject[];
  readonly drains: Drains;
  readonly clock: Clock;
}

const target = { provider: filterText, model: filterText.nullish(), providerModel: filterText.nullish() };
const newDrain = z.strictObject({ ...target, reason: shortText.nullish(), by: shortText.nullish() });
const endOfDrain = z.strictObject(target);

const statuses = z.strictObject({
  data: listOf(routeResponse),
  limits: limitsResponse.describe('Limits of providers, routes and credentials, with what is used.'),
  drains: listOf(z.strictObject({ ...drainMembers, routes: count })),
});
export type RoutesResponse = z.infer<typeof statuses>;
const ended = z.strictObject({ ...drainMembers, routes: listOf(routeResponse) });
export type EndedDrain = z.infer<typeof ended>;
const begun = ended.extend({ modelsWithoutRoutes: listOf(z.string()) });
export type BegunDrain = z.infer<typeof begun>;

interface OfModel {
  readonly model: Model;
  readonly route: Route;
}

/** Endpoints for routes. Each node has its own health of routes; drains apply to all nodes. */
export function routeEndpoints(dependencies: RouteAdminDependencies): AdminEndpoint[] {
  const { health, catalog, credentialsOf, drains, clock } = dependencies;

  const routesToWire = (routes: readonly OfModel[]) =>
    routes.map(({ model, route }) =>
      routeToWire(model, route, health.status(route.id), credentialsOf(route), drains.find(model.id, route)),
    );
  const routesOf = (drain: DrainTarget): OfModel[] => allRoutes(catalog()).filter((each) => isOf(drain, each));

  return [
    adminEndpoint({
      method: 'GET',
      path: '/routes',
      summary: 'List routes with their health as seen by this node, and drains',
      response: statuses,
      async run() {
        await drains.refresh();
        return {
          data: routesToWire(allRoutes(catalog())),
          limits: dependencies.limits().map((subject) => limitToWire(subject, clock.nowMs())),
          drains: drains.list().map((drain) => ({ ...drainToWire(drain), routes: routesOf(drain).length })),
        };
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/routes/drain',
      subject: { kind: 'drain' },
      summary: 'Drain a provider, a model at a provider, or a route: it gets no new calls',
      body: newDrain,
      response: begun,
      async run({ body }, { actor }) {
        const asked = toTarget(body);
        const { by, via } = operatorOf(actor, body.by ?? null);
        // A drain that applies to no route is refused, because a name probably has a typing error.
        if (routesOf(asked).length === 0) {
          throw invalidRequest(`No configured route goes to ${describe(asked)}.`, 'provider');
        }
        const drain = await drains.begin({
          ...asked,
          reason: body.reason ?? null,
          drainedBy: by ?? via,
          drainedAt: new Date(clock.nowMs()),
        });
        if (drain === 'too_many')
          throw conflict(`There are ${DRAINS_MAX} drains already, which is the limit. Drain whole providers instead.`);
        return {
          ...drainToWire(drain),
          routes: routesToWire(routesOf(drain)),
          modelsWithoutRoutes: modelsWithoutRoutes(routesOf(drain), drains),
        };
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/routes/resume',
      subject: { kind: 'drain', isResponseBefore: true },
      summary: 'End a drain',
      body: endOfDrain,
      response: ended,
      async run({ body }) {
        const asked = toTarget(body);
        const drain = await drains.end(asked);
        if (drain === null) throw noSuchDrain(asked, drains.list());
        // The routes show whether other drains still apply to them.
        return { ...drainToWire(drain), routes: routesToWire(routesOf(drain)) };
      },
    }),
  ];
}

function toTarget({ provider, model = null, providerModel = null }: z.infer<typeof endOfDrain>): DrainTarget {
  return { providerId: provider, model, providerModel };
}

function isOf({ providerId, model, providerModel }: DrainTarget, { model: { id }, route }: OfModel): boolean {
  return (
    route.providerId === providerId &&
    (model === null || model === id) &&
    (providerModel === null || providerModel === route.providerModel)
  );
}

/** Returns the models whose calls are refused, because all of their routes are drained. */
function modelsWithoutRoutes(routes: readonly OfModel[], drains: Drains): string[] {
  const models = new Set(routes.map(({ model }) => model));
  return [...models].filter(isWithoutRoutes).map(({ id }) => id);

  function isWithoutRoutes(model: Model): boolean {
    return Object.values(model.routes).some((all) => {
      const inService = all.filter(({ weight }) => weight > 0);
      return inService.length > 0 && withoutDrained(model, inService, drains).length === 0;
    });
  }
}

function noSuchDrain(asked: DrainTarget, drains: readonly Drain[]): GatewayError {
  const wider = drains.filter(
    ({ providerId, model, providerModel }) =>
      providerId === asked.providerId &&
      (model === null || asked.model === null || model === asked.model) &&
      (providerModel === null || asked.providerModel === null || providerModel === asked.providerModel),
  );
  const others = wider.length === 0 ? '' : ` Drained there: ${wider.slice(0, 5).map(describe).join('; ')}.`;
  return new GatewayError('pathUnknown', { message: `There is no drain of ${describe(asked)}.${others}` });
}

function describe({ providerId, model, providerModel }: DrainTarget): string {
  const parts = [`provider ${providerId}`];
  if (model !== null) parts.push(`model ${model}`);
  if (providerModel !== null) parts.push(`as ${providerModel}`);
  return parts.join(', ');
}
