import { GatewayError } from '../../errors/gateway-error.ts';
import type { ProtocolName } from '../../protocols/all.ts';
import type { Model, Route } from '../catalog/catalog.ts';

/** A number from 0 up to, but not including, 1. */
export type RandomSource = () => number;

/**
 * The routes that a call may take, in the order in which they are tried: the lowest priority number first, those of the
 * same priority by weighted random choice. A weight of 0 takes a route out of service. A call that continues the work
 * of a provider goes to that provider alone, because no other one can read it.
 *
 * @throws GatewayError `routeNotConfigured` where the model has no route to a provider of this protocol,
 * `routePolicyInvalid` where all of them are out of service.
 */
export function orderRoutes(
  model: Model,
  protocol: ProtocolName,
  chance: RandomSource,
  makerId?: string,
): readonly Route[] {
  const configured = model.routes[protocol];
  if (configured.length === 0) throw new GatewayError('routeNotConfigured', { param: 'model' });
  const routes = configured.filter((route) => route.weight > 0);
  if (routes.length === 1) return routes;
  if (routes.length === 0) throw new GatewayError('routePolicyInvalid', { param: 'model' });
  const makers = routes.filter((route) => route.providerId === makerId);
  const byPriority = Map.groupBy(makers.length > 0 ? makers : routes, (route) => route.priority);
  return [...byPriority.keys()].sort((a, b) => a - b).flatMap((priority) => drawAll(byPriority.get(priority)!, chance));
}

/** Draws one route after the other, each with a probability in proportion to its weight. */
function drawAll(routes: readonly Route[], chance: RandomSource): Route[] {
  const left = [...routes];
  const drawn: Route[] = [];
  while (left.length > 1) {
    const weightSum = left.reduce((sum, route) => sum + route.weight, 0);
    let at = chance() * weightSum;
    let index = left.findIndex((route) => {
      at -= route.weight;
      return at < 0;
    });
    if (index === -1) index = left.length - 1;
    drawn.push(...left.splice(index, 1));
  }
  return [...drawn, ...left];
}
