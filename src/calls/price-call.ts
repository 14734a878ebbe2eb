import { chargeBasis, type UnitPrices } from '../accounting/pricing/charge.ts';
import { type PriceInForce, priceInForce } from '../accounting/pricing/price.ts';
import { unpricedTerms } from '../accounting/pricing/token-rates.ts';
import { invalidRequest } from '../errors/gateway-error.ts';
import { serviceTerms } from '../protocols/metering/service-terms.ts';
import type { CallInput, Demand } from '../protocols/operations/operation.ts';
import { groupFactorOf } from '../providers/catalog/account-group.ts';
import { type Catalog, type Model, routesOf } from '../providers/catalog/catalog.ts';
import { isShownModel } from './allowed-models.ts';
import type { Call } from './call.ts';
import type { CallPricing } from './call-pricing.ts';
import { type EstimatedInput, estimateReservation, type ReservationEstimate } from './reservation-estimate.ts';
import { estimatesOfRoutes, greatestEstimate } from './translated-estimate.ts';

type PricedCall = Pick<
  Call,
  | 'policy'
  | 'principal'
  | 'clientInput'
  | 'firstTranslation'
  | 'asks'
  | 'model'
  | 'routes'
  | 'inner'
  | 'startedAtMs'
  | 'fallback'
>;

/** The models, and the instant at which their prices apply. */
export interface PricedAt {
  readonly catalog: Catalog;
  readonly atMs: number;
}

/** The price of a call on a balance. Later prices and revisions follow the database's clock, `atMs`; peak hours follow the call's start. */
export function pricingOf(call: PricedCall, { catalog, atMs }: PricedAt, continued: number): CallPricing {
  const { policy, clientInput: input, model, inner, startedAtMs, fallback } = call;
  const priceOf = ({ id, price }: Model): PriceInForce =>
    priceInForce(catalog.find(id)?.price ?? price, startedAtMs, atMs);
  const price = priceOf(fallback?.asked.fallbacks?.charge === 'asked' ? fallback.asked : model);
  const basis = chargeBasis(policy.operation, price.prices);
  const terms = { model, prices: price.prices, basis, continuedTokens: continued };
  const isPlain = model.routesByOperation === null && call.asks === null;
  const estimate = isPlain
    ? estimateReservation(input, terms)
    : greatestEstimate(estimatedInputs(call).map((asked) => estimateReservation(asked, terms)));
  const own = { price, basis, groupFactorBasisPoints: groupFactorOf(catalog.group), estimate };
  if (inner.length === 0) return { ...own, inner: NO_INNER, reservation: estimate };
  const priced = inner.map((each) => ({ ...each, price: priceOf(each.model) }));
  return { ...own, inner: priced, reservation: withInnerModels(input, estimate, priced, continued) };
}

/** What the call may ask for on its routes: with their parameters, and translated. */
function estimatedInputs({ clientInput, asks, firstTranslation, routes }: PricedCall): readonly EstimatedInput[] {
  const estimated = estimatesOfRoutes(clientInput, firstTranslation, routes);
  return asks === null ? estimated : [...asks, ...estimated.slice(1)];
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

/** Raises the reservation so that it covers the fallbacks that may serve the call, from number `tried` on. */
export function coveringFallbacks(call: PricedCall, pricing: CallPricing, at: PricedAt, tried: number): CallPricing {
  const asked = call.fallback?.asked ?? call.model;
  if (asked.fallbacks === null) return pricing;
  let { amountNano, tokens } = pricing.reservation;
  for (const id of asked.fallbacks.models.slice(tried)) {
    const model = at.catalog.find(id);
    if (!model?.operations.has(call.policy.operation)) continue;
    if (!isShownModel(model, call.principal, at.catalog.group)) continue;
    const { policy, principal, clientInput, inner, startedAtMs } = call;
    const routes = routesOf(model, policy.operation);
    // If its parameters ask for more than this, the fallback is skipped.
    const unchanged = { firstTranslation: null, asks: null };
    const moved = { policy, principal, clientInput, ...unchanged, inner, startedAtMs, model, routes };
    const { reservation } = pricingOf({ ...moved, fallback: { asked, reason: 'unavailable' } }, at, 0);
    if (reservation.amountNano > amountNano) amountNano = reservation.amountNano;
    tokens = Math.max(tokens, reservation.tokens);
  }
  return { ...pricing, reservation: { amountNano, tokens } };
}

/**
 * Checks that everything the request asks for has a price. Tools need no price: agents list their tools in every request.
 * @throws GatewayError `invalidRequest` with the request field that has no price
 */
export function checkPriced({ terms, audioInput, audioOutput }: Demand, prices: UnitPrices): void {
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
