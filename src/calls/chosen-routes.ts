import { hash } from 'node:crypto';
import { errorCatalogue } from '../errors/catalogue.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Operation } from '../protocols/operations/operation.ts';
import { makerOf, newestMaker } from '../protocols/translation/carriers.ts';
import { type Model, type Route, routesOf } from '../providers/catalog/catalog.ts';
import { byChance, bySession, orderRoutes, type RandomSource } from '../providers/routing/choose.ts';
import { type DrainedRoutes, NOTHING_DRAINED } from '../providers/routing/drains/drain.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import type { Call } from './call.ts';
import type { CallSession } from './call-request.ts';
import { type Continuation, routesThatAllow, routesToState } from './continuation.ts';
import { routesUsedUp, routeUsedUpUntilMs } from './relay/call-limits.ts';
import { retryAfter, whenText } from './retry-after.ts';
import type { Settings } from './settings.ts';

export interface RouteDependencies {
  readonly health: RouteHealth;
  readonly drained: DrainedRoutes;
  readonly clock: Clock;
  readonly randomSource: RandomSource;
}

/**
 * Returns the routes of a call in the order in which they are tried.
 * @throws GatewayError if none of them is healthy, or all that are healthy have used up their limits
 */
export function routesFor(
  call: Call,
  { continuedState, unknown }: Continuation,
  { health, drained, randomSource, clock }: RouteDependencies,
): readonly Route[] {
  const { model, policy, principal, input, settings, session, signerId } = call;
  // Without knowledge of who created the state, a drained provider may have it, so drains are ignored.
  const avoided = unknown === null ? drained : NOTHING_DRAINED;
  const choice = session === null ? byChance(randomSource) : bySession(session.key, health);
  const makers = { continuedId: continuedState?.providerId, signerId: signerId ?? undefined };
  const ordered = orderRoutes(model, policy.operation, choice, makers, avoided);
  const reaching = routesToState(ordered, unknown, settings.providers);
  const routes = routesThatAllow(reaching, input.unlisted, settings.providers);
  const { accountId } = principal;
  // A call may have begun long before it moves to this model.
  const nowMs = clock.nowMs();
  let freeAtMs: number | null = null;
  for (const route of routes) {
    if (!health.allows(route.id, accountId)) continue;
    const usedUpUntilMs = routeUsedUpUntilMs(route, settings, nowMs);
    if (usedUpUntilMs === null) return routes;
    freeAtMs = Math.min(freeAtMs ?? usedUpUntilMs, usedUpUntilMs);
  }
  if (freeAtMs !== null) throw routesUsedUp(freeAtMs, nowMs, settings);
  throw noHealthyRoute({ routes, accountId, settings }, health, nowMs);
}

/** Returns the session; `null` if there is none, no affinity, or no choice of routes and credentials. */
export function sessionOf({ policy, principal, input, requestHeaders, settings, model }: Call): CallSession | null {
  if (!model.hasAffinity) return null;
  const routes = routesOf(model, policy.operation);
  const isChoice =
    routes.length > 1 || routes.some(({ providerId }) => settings.providers.get(providerId).credentials.isChoice);
  const session = isChoice ? input.session(requestHeaders) : null;
  if (session === null) return null;
  const { by, value } = session;
  const key = hash('sha256', JSON.stringify([principal.accountId, model.id, by, value]), 'base64url');
  return { source: by, key };
}

export function hasSeveralMakers(model: Model, operation: Operation): boolean {
  const routes = routesOf(model, operation);
  return routes.length > 1 && routes.some(({ providerId }) => providerId !== routes[0]!.providerId);
}

/** The provider whose reasoning of a translated call comes back with the request; `null`: there is none, or it has no route. */
export function reasonerOf({ clientInput, model, policy }: Call): string | null {
  const maker = clientInput.clientBody === null ? null : newestMaker(clientInput.clientBody);
  if (maker === null) return null;
  return routesOf(model, policy.operation).find(({ providerId }) => makerOf(providerId) === maker)?.providerId ?? null;
}

export function noHealthyRoute(
  { routes, accountId, settings }: Unhealthy,
  health: RouteHealth,
  nowMs: number,
): GatewayError {
  const retryAtMs = Math.min(...routes.map(({ id }) => health.retryAtMs(id, accountId)));
  const headers = retryAfter(retryAtMs, nowMs);
  const isOfAccount = routes.some(({ id }) => health.isClosedForAccountOnly(id, accountId));
  const message = isOfAccount ? ONLY_OF_ACCOUNT : errorCatalogue.noHealthyRoute.message;
  const isLong = headers['retry-after'] === undefined;
  const next = isLong ? ` A route is tried again at ${whenText(retryAtMs, nowMs, settings.localTime)}.` : '';
  return new GatewayError('noHealthyRoute', { param: 'model', headers, message: message + next });
}

const ONLY_OF_ACCOUNT =
  'Calls of this account have failed several times in a row on every route of this model. Try again after a while, and ' +
  'check what these calls have in common.';

interface Unhealthy {
  readonly routes: readonly Route[];
  readonly accountId: string;
  readonly settings: Settings;
}
