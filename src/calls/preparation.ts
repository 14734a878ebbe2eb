import { hash } from 'node:crypto';
import type { ContinuationKeys } from '../accounting/continuation/continuation-keys.ts';
import { chargeBasis, type UnitPrices } from '../accounting/pricing/charge.ts';
import { type PriceInForce, priceInForce } from '../accounting/pricing/price.ts';
import { unpricedTerms } from '../accounting/pricing/token-rates.ts';
import { errorCatalogue } from '../errors/catalogue.ts';
import { GatewayError, invalidRequest } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import { serviceTerms } from '../protocols/metering/service-terms.ts';
import type { CallInput, Demand, Operation } from '../protocols/operations/operation.ts';
import { makerOf, newestMaker } from '../protocols/translation/carriers.ts';
import { groupFactorOf } from '../providers/catalog/account-group.ts';
import { type Catalog, type Model, type Route, routesOf } from '../providers/catalog/catalog.ts';
import { byChance, bySession, orderRoutes, type RandomSource, withoutDrained } from '../providers/routing/choose.ts';
import { type DrainedRoutes, NOTHING_DRAINED } from '../providers/routing/drains/drain.ts';
import type { RouteHealth } from '../providers/routing/health.ts';
import { allowInnerModels, requireAllowedModel } from './allowed-models.ts';
import type { Call } from './call.ts';
import type { CallPricing } from './call-pricing.ts';
import type { CallSession } from './call-request.ts';
import { type Continuation, findContinuation, routesThatAllow, routesToState } from './continuation.ts';
import { sideAt } from './price-switches.ts';
import { continuedTokens, estimateReservation, type ReservationEstimate } from './reservation-estimate.ts';
import { retryAfter, whenText } from './retry-after.ts';
import type { Settings } from './settings.ts';
import { isTranslationRefusal, type Translate, translateFor } from './translated-input.ts';

interface PreparationDependencies {
  readonly continuationKeys: ContinuationKeys;
  readonly health: RouteHealth;
  readonly drained: DrainedRoutes;
  readonly clock: Clock;
  /** This node's estimate of the database's clock. The database's clock decides which prices are in force. */
  readonly databaseClock: Clock;
  readonly randomSource: RandomSource;
  readonly translate: Translate;
}

export class Preparation {
  readonly #dependencies: PreparationDependencies;

  constructor(dependencies: PreparationDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Sets the model, routes, price and estimate of a call. Returns a promise only if the database must be read.
   * @throws GatewayError, or rejects with it, if no model can serve the call, the key may not use the model, or no route is healthy
   */
  prepare(call: Call): void | Promise<void> {
    const { policy, principal, clientInput: input, settings } = call;
    call.catalog = settings.catalog.of(principal.groupId);
    const named = input.model === null ? null : call.catalog.resolve(input.model, policy.operation);
    if (named !== null) requireAllowed(named, call);
    const hasChoice = named === null || this.#isChoice(named, policy.operation);
    const continuation = findContinuation(this.#dependencies.continuationKeys, principal.accountId, input, hasChoice);
    if (continuation instanceof Promise) return continuation.then((found) => this.#plan(call, named, found));
    return this.#plan(call, named, continuation);
  }

  /** Whether it matters which provider created the state that the call continues: several serve the model, or one is drained. */
  #isChoice(model: Model, operation: Operation): boolean {
    const routes = routesOf(model, operation);
    return (
      hasSeveralMakers(model, operation) ||
      withoutDrained(model, routes, this.#dependencies.drained).length < routes.length
    );
  }

  #plan(call: Call, named: Model | null, continuation: Continuation): void | Promise<void> {
    const { continuedState, signed } = continuation;
    const { policy, principal, input, catalog } = call;
    const model = named ?? restoredModel(continuedState ?? signed, policy.operation, catalog);
    if (named === null) requireAllowed(model, call);
    input.checkFor(model.id);
    call.model = model;
    call.signerId = signed?.providerId ?? (model.routesByOperation === null ? null : reasonerOf(call));
    call.hasSeveralMakers = hasSeveralMakers(model, policy.operation);
    call.session = sessionOf(call);
    call.startedAtMs = this.#dependencies.clock.nowMs();
    call.routes = this.#routesOf(call, continuation);
    call.inner = allowInnerModels(input.demand.innerModels, model, { principal, catalog });
    call.report.callId = call.callId;
    const continued = continuedTokens(input.demand, continuation.continuedTokens, model);
    if (call.routes[0]!.translation !== undefined) return this.#translate(call, continued);
    this.#price(call, continued);
  }

  /** Translates the request for the first route that can express it; routes before it are skipped. */
  async #translate(call: Call, continued: number): Promise<void> {
    let refusal: GatewayError | null = null;
    for (const [index, route] of call.routes.entries()) {
      if (route.translation === undefined) break;
      try {
        call.firstTranslation = await translateFor(call, route, this.#dependencies.translate);
        call.routes = call.routes.slice(index);
        this.#price(call, continued);
        return;
      } catch (error) {
        if (!isTranslationRefusal(error)) throw error;
        refusal ??= error;
      }
    }
    throw refusal!;
  }

  /** Sets the price of the call. Near a price change, sets the prices before and after it. */
  #price(call: Call, continued: number): void {
    const { policy, principal, model, input, settings, catalog } = call;
    const { switches } = settings;
    const nowMs = this.#dependencies.databaseClock.nowMs();
    call.pricing = pricingOf(call, { catalog, atMs: nowMs }, continued);
    if (policy.context !== 'balance') return;
    checkPriced(input.demand, call.pricing.price.prices);
    if (!switches.isNear(nowMs)) return;
    const sides = switches
      .sidesNear(nowMs)
      .map((side) => ({ ...side, catalog: side.catalog.of(principal.groupId) }))
      .filter((side) => side.catalog.find(model.id) !== null && side.catalog.group?.isConfigured !== false);
    if (sides.length === 0) return;
    call.sides = sides.map((side, index) => ({
      ...pricingOf(call, side, continued),
      // If the call is impossible before the first change, the prices after it apply from the beginning.
      fromMs: index === 0 ? Number.NEGATIVE_INFINITY : side.fromMs,
    }));
    call.pricing = call.sides[Math.max(sideAt(call.sides, nowMs), 0)]!;
  }

  #routesOf(call: Call, { continuedState, unknown }: Continuation): readonly Route[] {
    const { health, drained, randomSource } = this.#dependencies;
    const { model, policy, principal, input, settings, session, signerId, startedAtMs } = call;
    // Without knowledge of who created the state, a drained provider may have it, so drains are ignored.
    const avoided = unknown === null ? drained : NOTHING_DRAINED;
    const choice = session === null ? byChance(randomSource) : bySession(session.key, health);
    const makers = { continuedId: continuedState?.providerId, signerId: signerId ?? undefined };
    const ordered = orderRoutes(model, policy.operation, choice, makers, avoided);
    const reaching = routesToState(ordered, unknown, settings.providers);
    const routes = routesThatAllow(reaching, input.unlisted, settings.providers);
    const { accountId } = principal;
    if (routes.some(({ id }) => health.allows(id, accountId))) return routes;
    throw noHealthyRoute({ routes, accountId, settings }, health, startedAtMs);
  }
}

/** Returns the session; `null` if there is none, no affinity, or no choice of routes and credentials. */
function sessionOf({ policy, principal, input, requestHeaders, settings, model }: Call): CallSession | null {
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

/** The price of a call on a balance. Later prices and revisions follow the database's clock, `atMs`; peak hours follow the call's start. */
function pricingOf(
  { policy, clientInput: input, firstTranslation, model, inner, startedAtMs }: Call,
  { catalog, atMs }: { readonly catalog: Catalog; readonly atMs: number },
  continued: number,
): CallPricing {
  const priceOf = ({ id, price }: Model): PriceInForce =>
    priceInForce(catalog.find(id)?.price ?? price, startedAtMs, atMs);
  const price = priceOf(model);
  const basis = chargeBasis(policy.operation, price.prices);
  const terms = { model, prices: price.prices, basis, continuedTokens: continued };
  const asked = estimateReservation(input, terms);
  const estimate =
    firstTranslation === null ? asked : greaterEstimate(asked, estimateReservation(firstTranslation.input, terms));
  const own = { price, basis, groupFactorBasisPoints: groupFactorOf(catalog.group), estimate };
  if (inner.length === 0) return { ...own, inner: NO_INNER, reservation: estimate };
  const priced = inner.map((each) => ({ ...each, price: priceOf(each.model) }));
  return { ...own, inner: priced, reservation: withInnerModels(input, estimate, priced, continued) };
}

/** A translated request may ask for more than the client's, such as a cache write. */
function greaterEstimate(asked: ReservationEstimate, translated: ReservationEstimate): ReservationEstimate {
  const more = asked.amountNano > translated.amountNano ? asked : translated;
  return {
    ...more,
    inputTokens: Math.max(asked.inputTokens, translated.inputTokens),
    tokens: Math.max(asked.tokens, translated.tokens),
  };
}

const NO_INNER: CallPricing['inner'] = [];

/** Adds the maximum use of inner models. Each of them can read the whole request and write its maximum output. */
function withInnerModels(
  input: CallInput,
  estimate: ReservationEstimate,
  inner: CallPricing['inner'],
  continued: number,
): CallPricing['reservation'] {
  let { amountNano, tokens } = estimate;
  const unlimited = { ...input, demand: { ...input.demand, outputTokensLimit: null } };
  for (const { model, price } of inner) {
    const terms = { model, prices: price.prices, basis: 'tokens', continuedTokens: continued } as const;
    const ofInner = estimateReservation(unlimited, terms);
    amountNano += ofInner.amountNano;
    tokens += ofInner.tokens;
  }
  return { amountNano, tokens };
}

function hasSeveralMakers(model: Model, operation: Operation): boolean {
  const routes = routesOf(model, operation);
  return routes.length > 1 && routes.some(({ providerId }) => providerId !== routes[0]!.providerId);
}

/** The provider whose reasoning of a translated call comes back with the request; `null`: there is none, or it has no route. */
function reasonerOf({ clientInput, model, policy }: Call): string | null {
  const maker = clientInput.clientBody === null ? null : newestMaker(clientInput.clientBody);
  if (maker === null) return null;
  return routesOf(model, policy.operation).find(({ providerId }) => makerOf(providerId) === maker)?.providerId ?? null;
}

function requireAllowed(model: Model, { principal, catalog, report }: Call): void {
  report.model = model.id;
  requireAllowedModel(model, principal, catalog);
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

/** The model for a request whose `model` is null: that of the call that it continues (contract 4.3). */
function restoredModel(continuedState: Continuation['continuedState'], operation: Operation, catalog: Catalog): Model {
  if (continuedState !== null) return catalog.resolve(continuedState.model, operation);
  throw invalidRequest(
    'The field "model" may be null only if "previous_response_id" or an item with "encrypted_content" came from an ' +
      'earlier call through this gateway. Name the model.',
    'model',
  );
}

/**
 * Checks that everything the request asks for has a price. Tools need no price: agents list their tools in every request.
 * @throws GatewayError `invalidRequest` with the request field that has no price
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
