import type { Model, Route } from '../catalog/catalog.ts';
import type { Protocol } from '../config/schema.ts';
import { GatewayError } from '../errors/gateway-error.ts';

/** A number from 0 up to, but not including, 1. */
export type Chance = () => number;

/**
 * Chooses the route of a call: among those of the protocol, the lowest priority number first, then by weight
 * (design 9).
 *
 * @throws GatewayError `routeNotConfigured` where the model has no route to a provider of this protocol.
 */
export function chooseRoute(model: Model, protocol: Protocol, chance: Chance): Route {
  const routes = model.routes[protocol];
  if (routes.length === 1) return routes[0]!;
  if (routes.length === 0) throw new GatewayError('routeNotConfigured', { param: 'model' });
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
