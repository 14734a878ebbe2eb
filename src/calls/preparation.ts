import type { ContinuationKeys } from '../accounting/continuation/continuation-keys.ts';
import { GatewayError, invalidRequest } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Operation } from '../protocols/operations/operation.ts';
import { mayHaveCarriers } from '../protocols/translation/carriers.ts';
import { type Catalog, type Model, routesOf } from '../providers/catalog/catalog.ts';
import { withoutDrained } from '../providers/routing/choose.ts';
import { allowInnerModels, requireAllowedModel } from './allowed-models.ts';
import { releaseBodies } from './body-memory.ts';
import type { Call } from './call.ts';
import type { CallPricing } from './call-pricing.ts';
import { hasSeveralMakers, type RouteDependencies, reasonerOf, routesFor, sessionOf } from './chosen-routes.ts';
import { type Continuation, findContinuation, NO_STATE } from './continuation.ts';
import type { Fallback } from './fallback.ts';
import { checkPriced, coveringFallbacks, type PricedAt, pricingOf } from './price-call.ts';
import { sideAt } from './price-switches.ts';
import { continuedTokens, type EstimatedInput, mostRequestedOutput } from './reservation-estimate.ts';
import { hasParameters, type Rewriter } from './rewritten-input.ts';
import { isTranslationRefusal, type Translator } from './translated-input.ts';

interface PreparationDependencies extends RouteDependencies {
  readonly continuationKeys: ContinuationKeys;
  /** This node's estimate of the database's clock. The database's clock decides which prices are in force. */
  readonly databaseClock: Clock;
  readonly translator: Translator;
  readonly rewriter: Rewriter;
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
    const { clientBody } = call.clientInput;
    call.hasCarriers = catalog.isTranslated && clientBody !== null && mayHaveCarriers(clientBody);
    call.signerId =
      signed?.providerId ?? (call.hasCarriers && model.routesByOperation !== null ? reasonerOf(call) : null);
    call.hasSeveralMakers = hasSeveralMakers(model, policy.operation);
    call.session = sessionOf(call);
    call.startedAtMs = this.#dependencies.clock.nowMs();
    call.routes = routesFor(call, continuation, this.#dependencies);
    call.inner = allowInnerModels(input.demand.innerModels, model, { principal, catalog });
    call.report.callId = call.callId;
    const continued = continuedTokens(input.demand, continuation.continuedTokens, model);
    if (model.hasParameters) return this.#rewrite(call, continued);
    if (call.routes[0]!.translation !== undefined) return this.#translate(call, continued);
    this.#price(call, continued);
  }

  /**
   * Moves a call to another model, which then serves it. The call continues no state.
   * @throws GatewayError, or rejects with it, if this model cannot serve it; the call is then as before
   */
  moveTo(call: Call, model: Model, fallback: Fallback): void | Promise<void> {
    const before = pick(call, MOVED);
    try {
      const moved = this.#move(call, model, fallback);
      if (moved === undefined) releaseBodies(before);
      return moved?.then(
        () => releaseBodies(before),
        (error: unknown) => restore(call, before, error),
      );
    } catch (error) {
      return restore(call, before, error);
    }
  }

  #move(call: Call, model: Model, fallback: Fallback): void | Promise<void> {
    const { policy, principal, clientInput, catalog } = call;
    catalog.resolve(model.id, policy.operation);
    requireAllowedModel(model, principal, catalog);
    clientInput.checkFor(model.id);
    Object.assign(call, { model, fallback, input: clientInput, operation: policy.operation });
    Object.assign(call, { translation: null, firstTranslation: null, signerId: null });
    Object.assign(call, { rewriting: null, firstRewriting: null, asks: null });
    call.hasSeveralMakers = hasSeveralMakers(model, policy.operation);
    call.session = sessionOf(call);
    call.routes = routesFor(call, NO_STATE, this.#dependencies);
    call.inner = allowInnerModels(clientInput.demand.innerModels, model, { principal, catalog });
    call.report.callId = call.callId;
    if (model.hasParameters) return this.#rewrite(call, 0);
    if (call.routes[0]!.translation !== undefined) return this.#translate(call, 0);
    this.#price(call, 0);
  }

  /**
   * Sets the price of an admitted call for another model.
   * @throws GatewayError if the call has not reserved enough for it, or asks it for more than the plan allows
   */
  #priceWithinHold(call: Call): void {
    requireWithinPlan(call);
    const pricing = pricingOf(call, { catalog: call.catalog, atMs: this.#dependencies.databaseClock.nowMs() }, 0);
    const { amountNano, tokens } = pricing.reservation;
    if (call.policy.context === 'balance') {
      for (const { demand } of call.asks ?? [call.clientInput]) checkPriced(demand, pricing.price.prices);
      if (amountNano > call.held.amountNano) throw new GatewayError('insufficientBalance', { message: NOT_HELD });
    }
    if (tokens > call.held.tokens) throw new GatewayError('insufficientBalance', { message: NOT_HELD });
    call.pricing = { ...pricing, reservation: call.held };
  }

  /** Applies the parameters of the routes, because they change what the call can cost. Only the request of the first one is kept. */
  async #rewrite(call: Call, continued: number): Promise<void> {
    const { clientInput, routes } = call;
    const asks = new Map<unknown, EstimatedInput>();
    for (const route of routes) {
      if (!hasParameters(route, clientInput)) {
        asks.set(null, clientInput);
        continue;
      }
      const { parameters } = route;
      if (asks.has(parameters)) continue;
      const rewriting = await this.#dependencies.rewriter.rewrite(call, route);
      if (call.firstRewriting === null) call.firstRewriting = rewriting;
      else rewriting.release();
      const { inputTokensEstimate, choices, demand } = rewriting.input;
      asks.set(parameters, { inputTokensEstimate, choices, demand });
    }
    call.asks = [...asks.values()];
    if (routes[0]!.translation !== undefined) await this.#translate(call, continued);
    else this.#price(call, continued);
  }

  /** Translates the request for the first route that can express it; routes before it are skipped. A native route can express anything. */
  async #translate(call: Call, continued: number): Promise<void> {
    let refusal: GatewayError | null = null;
    for (const [index, route] of call.routes.entries()) {
      if (route.translation !== undefined) {
        try {
          call.firstTranslation = await this.#dependencies.translator.translate(call, route);
        } catch (error) {
          if (!isTranslationRefusal(error)) throw error;
          refusal ??= error;
          continue;
        }
      }
      call.routes = call.routes.slice(index);
      this.#price(call, continued);
      return;
    }
    throw refusal!;
  }

  /** Sets the price of the call. Near a price change, sets the prices before and after it. */
  #price(call: Call, continued: number): void {
    if (call.report.isAdmitted) {
      this.#priceWithinHold(call);
      return;
    }
    const { policy, principal, model, input, settings, catalog, fallbacksTried } = call;
    const { switches } = settings;
    const nowMs = this.#dependencies.databaseClock.nowMs();
    const priced = (at: PricedAt): CallPricing =>
      coveringFallbacks(call, pricingOf(call, at, continued), at, fallbacksTried);
    call.pricing = priced({ catalog, atMs: nowMs });
    if (policy.context !== 'balance') return;
    for (const { demand } of call.asks ?? [input]) checkPriced(demand, call.pricing.price.prices);
    if (!switches.isNear(nowMs)) return;
    const sides = switches
      .sidesNear(nowMs)
      .map((side) => ({ ...side, catalog: side.catalog.of(principal.groupId) }))
      .filter((side) => side.catalog.find(model.id) !== null && side.catalog.group?.isConfigured !== false);
    if (sides.length === 0) return;
    call.sides = sides.map((side, index) => ({
      ...priced(side),
      // If the call is impossible before the first change, the prices after it apply from the beginning.
      fromMs: index === 0 ? Number.NEGATIVE_INFINITY : side.fromMs,
    }));
    call.pricing = call.sides[Math.max(sideAt(call.sides, nowMs), 0)]!;
  }
}

/** What changes if a call moves to another model. */
const MOVED = [
  ...(['model', 'fallback', 'input', 'operation', 'translation', 'firstTranslation', 'rewriting'] as const),
  ...([
    'firstRewriting',
    'asks',
    'signerId',
    'hasSeveralMakers',
    'session',
    'routes',
    'inner',
    'pricing',
    'sides',
  ] as const),
] as const;

function restore(call: Call, before: Pick<Call, (typeof MOVED)[number]>, error: unknown): never {
  if (call.firstTranslation !== before.firstTranslation) call.firstTranslation?.release();
  if (call.firstRewriting !== before.firstRewriting) call.firstRewriting?.release();
  Object.assign(call, before);
  throw error;
}

function pick<Of, Name extends keyof Of>(of: Of, names: readonly Name[]): Pick<Of, Name> {
  return Object.fromEntries(names.map((name) => [name, of[name]])) as Pick<Of, Name>;
}

/** Checks what depends on the model that serves the call: the models that it can run, and the output that parameters ask for. */
function requireWithinPlan(call: Call): void {
  const { planId, settings, inner, model } = call;
  if (planId === null) return;
  const plan = settings.plans.find(({ id }) => id === planId);
  if (plan === undefined || !inner.every((each) => plan.models.has(each.model.id)))
    throw new GatewayError('modelNotInPackage', { param: 'model' });
  if (mostRequestedOutput(call, model) > plan.outputTokensMax) throw new GatewayError('packageOutputLimitExceeded');
}

const NOT_HELD = 'The call has not reserved enough for this model.';

function requireAllowed(model: Model, { principal, catalog, report }: Call): void {
  report.model = model.id;
  requireAllowedModel(model, principal, catalog);
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
