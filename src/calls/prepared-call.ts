import { callIdOf } from '../accounting/calls/call-outcome.ts';
import type { ContinuationKeys } from '../accounting/continuation/continuation-keys.ts';
import { chargeBasis, type UnitPrices } from '../accounting/pricing/charge.ts';
import { type PriceInForce, priceInForce } from '../accounting/pricing/price.ts';
import { unpricedTerms } from '../accounting/pricing/token-rates.ts';
import { errorCatalogue } from '../errors/catalogue.ts';
import { GatewayError, invalidRequest } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Soon } from '../lib/soon.ts';
import { serviceTerms } from '../protocols/metering/service-terms.ts';
import type { ChargeBasis } from '../protocols/metering/usage-facts.ts';
import type { Demand, Operation } from '../protocols/operations/operation.ts';
import type { Model, Route } from '../providers/catalog/catalog.ts';
import { byChance, bySession, orderRoutes, type RandomSource, withoutDrained } from '../providers/routing/choose.ts';
import { type DrainedRoutes, NOTHING_DRAINED } from '../providers/routing/drains/drain.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import { type AllowedModel, allowInnerModels, requireAllowedModel } from './allowed-models.ts';
import type { CallRequest } from './call-request.ts';
import { type CallSession, sessionOf } from './call-session.ts';
import { type Continuation, findContinuation, routesThatAllow, routesToState } from './continuation.ts';
import { continuedTokens, estimateReservation, type ReservationEstimate } from './reservation-estimate.ts';
import { retryAfter, whenText } from './retry-after.ts';
import type { Settings } from './settings.ts';

/** A call with everything that is known about it before its admission. */
export interface PreparedCall extends CallRequest {
  readonly callId: string;
  readonly startedAtMs: number;
  readonly model: Model;
  /** The routes that the call may take, in the order in which they are tried; at least one. */
  readonly routes: readonly Route[];
  /** The provider that signed the newest thinking of the call; `null`: not known, or there is no choice of makers. */
  readonly signerId: string | null;
  /** Whether routes to several providers serve the model: then the signed blocks of the response are remembered. */
  readonly hasSeveralMakers: boolean;
  /** The session of the call; `null`: it has none, or there is nothing to choose. */
  readonly session: CallSession | null;
  /** The price in force, for the reservation and the charge. */
  readonly price: PriceInForce;
  readonly basis: ChargeBasis;
  /** The inner models that the request names. */
  readonly inner: readonly AllowedModel[];
  /** The most that the call's own model may use. */
  readonly estimate: ReservationEstimate;
  /** The most that all models of the call may use together. */
  readonly reservation: { readonly amountNano: bigint; readonly tokens: number };
}

interface PrepareParts {
  readonly continuationKeys: ContinuationKeys;
  readonly health: RouteHealth;
  readonly drained: DrainedRoutes;
  readonly clock: Clock;
  readonly randomSource: RandomSource;
}

/**
 * Resolves the model, orders its routes, takes the price in force and estimates what the call may use.
 *
 * @throws GatewayError, or rejects with it, if the call names no model that can serve it, or one that its key may not use, or no route of the
 * model is healthy.
 */
export function createPrepare(parts: PrepareParts): (request: CallRequest) => Soon<PreparedCall> {
  const { continuationKeys, health, drained, clock, randomSource } = parts;

  /** Whether it matters who made what a call continues. A single maker matters if it is drained. */
  function isChoice(model: Model, operation: Operation): boolean {
    const routes = model.routes[operation.protocol.name];
    return hasSeveralMakers(model, operation) || withoutDrained(model, routes, drained).length < routes.length;
  }

  return function prepare(request) {
    const { policy, principal, input, settings } = request;
    const { operation } = policy;
    const { accountId } = principal;
    const { catalog } = settings;
    const named = input.model === null ? null : catalog.resolve(input.model, operation);
    if (named !== null) requireAllowed(named, request);
    const hasChoice = named === null || isChoice(named, operation);
    const continuation = findContinuation(continuationKeys, accountId, input, hasChoice);
    return continuation instanceof Promise
      ? continuation.then((found) => prepareContinued(request, named, found))
      : prepareContinued(request, named, continuation);
  };

  /** `named`: the model that the request names; `null`: none. */
  function prepareContinued(request: CallRequest, named: Model | null, continuation: Continuation): PreparedCall {
    const { continuedState, signed, unknown } = continuation;
    const { policy, principal, input, settings } = request;
    const { operation } = policy;
    const { accountId } = principal;
    const { catalog } = settings;
    const model = named ?? restoredModel(continuedState ?? signed, operation, settings);
    if (named === null) requireAllowed(model, request);
    input.checkFor(model.id);
    // State that nothing is known of may be kept behind a drained route.
    const heeded = unknown === null ? drained : NOTHING_DRAINED;
    const session = sessionOf(request, model);
    const choice = session === null ? byChance(randomSource) : bySession(session.key, health);
    const makers = { continuedId: continuedState?.providerId, signerId: signed?.providerId };
    const ordered = orderRoutes(model, operation.protocol.name, choice, makers, heeded);
    const reaching = routesToState(ordered, unknown, settings.providers);
    const routes = routesThatAllow(reaching, input.unlisted, settings.providers);
    const startedAtMs = clock.nowMs();
    if (!routes.some((route) => health.allows(route.id, accountId))) {
      throw noHealthyRoute({ routes, accountId, settings }, health, startedAtMs);
    }
    const price = priceInForce(model.price, startedAtMs);
    const basis = chargeBasis(operation, price.prices);
    if (policy.context === 'balance') checkPriced(input.demand, price.prices);
    const inner = allowInnerModels(input.demand.innerModels, model, { principal, catalog }, startedAtMs);
    const continued = continuedTokens(input.demand, continuation.continuedTokens, model);
    const estimate = estimateReservation(input, { model, prices: price.prices, basis, continuedTokens: continued });
    let { amountNano, tokens } = estimate;
    for (const each of inner) {
      // Each inner model may read the whole request, and write as much as the model can.
      const ofInner = estimateReservation(
        { ...input, demand: { ...input.demand, outputTokensLimit: null } },
        { model: each.model, prices: each.price.prices, basis: 'tokens', continuedTokens: continued },
      );
      amountNano += ofInner.amountNano;
      tokens += ofInner.tokens;
    }
    const reservation = { amountNano, tokens };
    const callId = callIdOf(request.requestId);
    request.report.callId = callId;
    return {
      policy,
      principal,
      headers: request.headers,
      input,
      requestId: request.requestId,
      client: request.client,
      settings,
      report: request.report,
      claim: request.claim,
      callId,
      startedAtMs,
      model,
      routes,
      signerId: signed?.providerId ?? null,
      hasSeveralMakers: hasSeveralMakers(model, operation),
      session,
      price,
      basis,
      inner,
      estimate,
      reservation,
    };
  }
}

function hasSeveralMakers(model: Model, { protocol }: Operation): boolean {
  const routes = model.routes[protocol.name];
  return routes.length > 1 && routes.some(({ providerId }) => providerId !== routes[0]!.providerId);
}

function requireAllowed(model: Model, { principal, settings, report }: CallRequest): void {
  report.model = model.id;
  requireAllowedModel(model, principal, settings.catalog);
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
  'look at what these calls have in common.';

/** A call of which no route is healthy. */
interface Unhealthy {
  readonly routes: readonly Route[];
  readonly accountId: string;
  readonly settings: Settings;
}

/** The model of a call that names none: the model of the earlier call that it continues (contract 4.3). */
function restoredModel(
  continuedState: Continuation['continuedState'],
  operation: Operation,
  { catalog }: Settings,
): Model {
  if (continuedState !== null) return catalog.resolve(continuedState.model, operation);
  throw invalidRequest(
    'The field "model" may be null only if "previous_response_id" or an item with "encrypted_content" came from an ' +
      'earlier call through this gateway. Name the model.',
    'model',
  );
}

/**
 * Checks that what a request asks for by name has a price: a tier of service, a speed, a region, audio. Tools that it only
 * lists need none, since agents list them with every request.
 *
 * @throws GatewayError `invalidRequest` with the field to blame.
 */
function checkPriced({ terms, audioInput, audioOutput }: Demand, prices: UnitPrices): void {
  const [term] = unpricedTerms(prices, terms);
  if (term !== undefined) {
    const { member, plain } = serviceTerms[term];
    const value = JSON.stringify(terms[term]);
    throw invalidRequest(
      `This model has no price for the "${member}" ${value}. Leave the field out, or set it to "${plain[0]}".`,
      member,
    );
  }
  if (audioInput !== null && prices.audioInputNanoPerMillion === undefined) {
    throw invalidRequest(`This model has no price for audio, which "${audioInput}" contains.`, audioInput);
  }
  if (audioOutput !== null && prices.audioOutputNanoPerMillion === undefined) {
    throw invalidRequest(`This model has no price for audio, which "${audioOutput}" asks for.`, audioOutput);
  }
}
