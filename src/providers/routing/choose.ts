import { GatewayError } from '../../errors/gateway-error.ts';
import type { Operation } from '../../protocols/operations/operation.ts';
import { type Model, type Route, routesOf } from '../catalog/catalog.ts';
import { type DrainedRoutes, NOTHING_DRAINED } from './drains/drain.ts';
import type { RouteHealth } from './health.ts';
import { rendezvousOrder, unitHash } from './rendezvous.ts';

export type RandomSource = () => number;

/** Orders routes of equal priority, all with a weight above 0. */
type RouteChoice = (routes: readonly Route[]) => readonly Route[];

/** The order for calls without a session: random, in proportion to the weights. */
export const byChance =
  (randomSource: RandomSource): RouteChoice =>
  (routes) =>
    drawAll(routes, randomSource);

/** The order for calls of a session, which is the same on every node. A route that was out of service gets its sessions back gradually. */
export function bySession(sessionKey: string, health: Pick<RouteHealth, 'sessionShare'>): RouteChoice {
  const isBack = ({ id }: Route): boolean => {
    const share = health.sessionShare(id);
    return share >= 1 || unitHash(`${sessionKey}\0comeback`) < share;
  };
  return (routes) => {
    const order = rendezvousOrder(sessionKey, routes, ({ providerId, providerModel, weight }) => ({
      name: `${providerId}\0${providerModel}`,
      weight,
    }));
    return order.every(isBack) ? order : [...order.filter(isBack), ...order.filter((route) => !isBack(route))];
  };
}

export interface Makers {
  /** The provider of the state that the call continues. Other providers cannot read this state. */
  readonly continuedId?: string | undefined;
  /** The provider that signed the newest thinking block in the request. Other providers might refuse its signature. */
  readonly signerId?: string | undefined;
}

const NO_MAKERS: Makers = {};

/**
 * Returns the routes for a call in the order of attempts: the signer's first, then by ascending priority number. Routes with weight 0 are
 * out of service. Drained routes get no new calls, except calls that continue state of a provider without other routes (decision 31). The
 * signer's drained routes are last, in case all other providers refuse the signature.
 * @throws GatewayError `routeNotConfigured` if the model has no route for this operation, `routePolicyInvalid` if all routes are out of
 * service, `noHealthyRoute` if all remaining routes are drained
 */
export function orderRoutes(
  model: Model,
  operation: Operation,
  choice: RouteChoice,
  { continuedId, signerId }: Makers = NO_MAKERS,
  drained: DrainedRoutes = NOTHING_DRAINED,
): readonly Route[] {
  const configured = routesOf(model, operation);
  if (configured.length === 0) throw new GatewayError('routeNotConfigured', { param: 'model' });
  const [only] = configured;
  if (configured.length === 1 && only!.weight > 0 && drained.find(model.id, only!) === null) return configured;
  const routes = configured.filter((route) => route.weight > 0);
  if (routes.length === 0) throw new GatewayError('routePolicyInvalid', { param: 'model' });
  const makers = routes.filter((route) => route.providerId === continuedId);
  const reaching = makers.length > 0 ? makers : routes;
  const signers = reaching.filter((route) => route.providerId === signerId);
  const undrained = withoutDrained(model, reaching, drained);
  const candidates = undrained.length > 0 ? undrained : makers.length > 0 ? makers : signers;
  if (candidates.length === 0) throw new GatewayError('noHealthyRoute', { param: 'model', message: ALL_DRAINED });
  const ordered = byPriority(candidates, choice);
  if (signers.length === 0) return ordered;
  const [first, others] = [true, false].map((isSigner) =>
    ordered.filter((route) => signers.includes(route) === isSigner),
  ) as [Route[], Route[]];
  return [...first, ...others, ...byPriority(signers, choice).filter((route) => !candidates.includes(route))];
}

function byPriority(routes: readonly Route[], choice: RouteChoice): readonly Route[] {
  if (routes.length === 1) return routes;
  const priorities = Map.groupBy(routes, ({ priority, translation }) =>
    translation === undefined ? priority : priority + TRANSLATED,
  );
  return [...priorities.keys()].sort((a, b) => a - b).flatMap((priority) => choice(priorities.get(priority)!));
}

/** Added to the priority numbers of translated routes, which are tried after all others. */
const TRANSLATED = 10_000;

const ALL_DRAINED = 'All routes of this model are temporarily out of service. Use another model, or try again later.';

export function withoutDrained(model: Model, routes: readonly Route[], drained: DrainedRoutes): readonly Route[] {
  return routes.some((route) => drained.find(model.id, route) !== null)
    ? routes.filter((route) => drained.find(model.id, route) === null)
    : routes;
}

function drawAll(routes: readonly Route[], randomSource: RandomSource): Route[] {
  const left = [...routes];
  const drawn: Route[] = [];
  while (left.length > 1) {
    const weightSum = left.reduce((sum, route) => sum + route.weight, 0);
    let at = randomSource() * weightSum;
    let index = left.findIndex((route) => {
      at -= route.weight;
      return at < 0;
    });
    if (index === -1) index = left.length - 1;
    drawn.push(...left.splice(index, 1));
  }
  return [...drawn, ...left];
}
