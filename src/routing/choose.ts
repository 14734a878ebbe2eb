import type { Model, Route } from '../catalog/catalog.ts';
import type { Protocol } from '../config/schema.ts';
import { GatewayError } from '../errors/gateway-error.ts';

/** A number from 0 up to, but not including, 1. */
export type Chance = () => number;

/**
 * Chooses the route of a call: among those of the protocol, the one to the provider whose work the call continues, else
 * the lowest priority number first, then by weight (design 9). A weight of 0 takes a route out of service.
 *
 * @throws GatewayError `routeNotConfigured` where the model has no route to a provider of this protocol,
 * `routePolicyInvalid` where all of them are out of service.
 */
export function chooseRoute(model: Model, protocol: Protocol, chance: Chance, preferredProvider?: string): Route {
  const configured = model.routes[protocol];
  if (configured.length === 0) throw new GatewayError('routeNotConfigured', { param: 'model' });
  const routes = configured.filter((route) => route.weight > 0);
  if (routes.length === 0) throw new GatewayError('routePolicyInvalid', { param: 'model' });
  if (routes.length === 1) return routes[0]!;
  const preferred = routes.find((route) => route.providerId === preferredProvider);
  if (preferred !== undefined) return preferred;
  const best = Math.min(...routes.map((route) => route.priority));
  const candidates = routes.filter((route) => route.priority === best);
  const weightSum = candidates.reduce((sum, route) => sum + route.weight, 0);
  let left = chance() * weightSum;
  for (const route of candidates) {
    left -= route.weight;
    if (left < 0) return route;
  }
  return candidates.at(-1)!;
}
