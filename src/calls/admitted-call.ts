import type { CallOutcome, FailedRoute } from '../accounting/calls/call-outcome.ts';
import { type CallCharge, type CostTerms, chargeCall } from '../accounting/pricing/call-charge.ts';
import { chargeBasis } from '../accounting/pricing/charge-basis.ts';
import { priceInForce } from '../accounting/pricing/price.ts';
import { atPriceFactor } from '../accounting/pricing/price-factor.ts';
import type { StoredResponse } from '../accounting/repeats/stored-response.ts';
import { ClaimLostError } from '../accounting/repeats/stored-responses.ts';
import type { Admitted, Remaining } from '../accounting/reservations/reservation.ts';
import type { Settlement } from '../accounting/settlement/settlement.ts';
import type { MadeState } from '../accounting/settlement/settlement-record.ts';
import type { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { totalTokens, type UsageFacts } from '../protocols/metering/usage-facts.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import { storedFailure, storedSuccess, withCallHeaders } from './idempotency/stored-outcome.ts';
import type { AllowedModel } from './inner-models.ts';
import type { PreparedCall } from './prepared-call.ts';
import type { AttemptResult, WholeResponse } from './relay/attempt.ts';
import { callHeaders, chargeHeaders, rateHeaders } from './relay/call-headers.ts';
import type { UnpricedUses } from './unpriced-uses.ts';

/** What is known about a call that failed. */
interface Failure {
  /** Whether the provider may have carried the call out. */
  readonly mayHaveRun: boolean;
  /** Whether the call counts in windows and limits of calls although nothing was delivered. */
  readonly counts: boolean;
}

/** The parts that settle a call. */
export interface SettlementParts {
  readonly settlement: Pick<Settlement, 'end'>;
  /** A call of the account has ended: the next one in the admission queue may try again. */
  readonly onEnded: (accountId: string) => void;
  readonly unpricedUses: UnpricedUses;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** An admission, and when it was. */
interface AdmittedAt extends Admitted {
  /** By the database's clock. */
  readonly atMs: number;
}

/**
 * A call from its admission to its end. It sets the headers of the response. It ends once, with a charge or without, and its
 * end makes the stored response for its repeats.
 */
export class AdmittedCall {
  readonly prepared: PreparedCall;
  /** What remains to the account with this call's reservation taken off. */
  readonly #remaining: Remaining;
  readonly #priceFactorBasisPoints: number;
  readonly #isTokenLimited: boolean;
  /** What is left of limits by the minute, as the client reads it. */
  readonly #rateHeaders: Readonly<Record<string, string>>;
  readonly #parts: SettlementParts;
  readonly #failedRoutes: FailedRoute[] = [];
  #route: Route;
  #isEnded = false;

  constructor(prepared: PreparedCall, admitted: AdmittedAt, parts: SettlementParts) {
    const { remaining, priceFactorBasisPoints, rates, atMs } = admitted;
    this.prepared = prepared;
    this.#remaining = shownTo(prepared, remaining);
    this.#priceFactorBasisPoints = priceFactorBasisPoints;
    this.#isTokenLimited = rates !== null && rates.tokens !== null;
    this.#rateHeaders = rates === null ? {} : rateHeaders(rates, atMs, prepared);
    this.#parts = parts;
    this.#route = prepared.routes[0]!;
    this.#setHeaders(null, this.#remaining);
  }

  /** Whether the call has ended, or its end was tried and failed. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The route of the current attempt, or of the last one. */
  get route(): Route {
    return this.#route;
  }

  /** Begins an attempt at a route; `failure` is the error of the attempt before, `null` for the first one. */
  goesOver(route: Route, failure: GatewayError | null): void {
    if (failure !== null) {
      const { providerId, providerModel } = this.#route;
      this.#failedRoutes.push({ provider: providerId, model: providerModel, error: failure.code });
    }
    this.#route = route;
  }

  /**
   * Ends a call of which something was delivered, or is about to be. `response` makes the response that repeats get.
   *
   * @throws where the end could not be made durable.
   */
  async settle(result: AttemptResult, response?: () => WholeResponse): Promise<void> {
    const isStored = this.prepared.claim !== undefined && response !== undefined;
    await this.#end(result, isStored ? storedSuccess(response()) : null);
  }

  /**
   * Ends a call that failed. Its reservation is released, and so are its slots in windows and limits of calls, unless the
   * call counts. Where the provider may have carried it out, repeats get the failure and do not run the call again.
   *
   * @throws where the end could not be made durable.
   */
  async release(response: GatewayError, { mayHaveRun, counts }: Failure): Promise<void> {
    const requestId = this.#requestId(response);
    const result: AttemptResult = {
      status: 'failed',
      usage: null,
      httpStatus: response.status,
      error: response,
      requestId,
      counts,
      firstByteAtMs: null,
      continuationKeys: [],
    };
    const isStored = this.prepared.claim !== undefined && mayHaveRun;
    try {
      await this.#end(result, isStored ? storedFailure(response, requestId) : null);
    } catch (error) {
      if (!(error instanceof ClaimLostError)) throw error;
      // Another node has the claim and runs the call; repeats get its result.
      await this.#end(result, null);
    }
  }

  async #end(result: AttemptResult, response: StoredResponse | null): Promise<void> {
    this.#isEnded = true;
    const { principal, policy, input, claim } = this.prepared;
    const isOnPlan = policy.context === 'coding';
    const { counts } = result;
    const outcome = this.#outcome(result);
    const { chargeNano, usage } = outcome;
    const stored = response && withCallHeaders(response, chargeHeaders(outcome.callId, this.#shownCharge(chargeNano)));
    let remaining: Remaining;
    try {
      const { availableNano } = await this.#parts.settlement.end({
        outcome,
        plan: isOnPlan ? { counts, tokens: counts && usage !== null ? totalTokens(usage) : 0 } : null,
        rate: this.#isTokenLimited ? { tokens: usage === null ? 0 : totalTokens(usage) } : null,
        key: principal.isKeyLimited ? { counts, chargeNano: chargeNano ?? 0n } : null,
        kept: stored && claim!.responded(this.prepared, stored),
        made: this.#made(result.continuationKeys, usage),
      });
      this.#parts.onEnded(outcome.accountId);
      this.prepared.report.outcome = outcome;
      remaining = shownTo(this.prepared, remainingAfter(this.#remaining, availableNano, counts));
    } catch (error) {
      this.#isEnded = !(error instanceof ClaimLostError);
      throw error;
    }
    claim?.settled(stored);
    // The headers of a stream say what was known at admission, also if the stream has not begun yet.
    const isFailed = result.status === 'failed';
    if (!input.isStream || isFailed) this.#setHeaders(this.#shownCharge(chargeNano), remaining, isFailed);
  }

  #made(keys: readonly string[], usage: UsageFacts | null): MadeState | null {
    if (keys.length === 0) return null;
    const made = {
      keys,
      model: this.prepared.model.id,
      providerId: this.#route.providerId,
      atMs: this.#parts.clock.nowMs(),
    };
    return usage === null ? made : { ...made, totalTokens: totalTokens(usage) };
  }

  #outcome(result: AttemptResult): CallOutcome {
    const { principal, policy, input, callId, model, price, startedAtMs, report } = this.prepared;
    const { usage, notes, chargeNano, costNano } = this.#charge(result.usage);
    const isOnPlan = policy.context === 'coding';
    return {
      accountId: principal.accountId,
      callId,
      keyId: principal.keyId,
      context: policy.context,
      operation: policy.operation.name,
      model: model.id,
      provider: this.#route.providerId,
      providerModel: this.#route.providerModel,
      failedRoutes: this.#failedRoutes,
      isStream: input.isStream,
      status: result.status,
      httpStatus: result.httpStatus,
      errorCode: result.error?.code ?? null,
      requestId: result.requestId,
      clientRequestId: report.clientRequestId,
      startedAtMs,
      firstByteMs: result.firstByteAtMs === null ? null : result.firstByteAtMs - startedAtMs,
      endedAtMs: this.#parts.clock.nowMs(),
      usage,
      notes,
      price,
      priceFactorBasisPoints: this.#priceFactorBasisPoints,
      chargeNano: isOnPlan ? null : chargeNano,
      costNano,
    };
  }

  /** Charges what the provider reported, up to what the call can have used. */
  #charge(
    reported: UsageFacts | null,
  ): Pick<CallOutcome, 'usage' | 'notes' | 'chargeNano'> & { costNano: bigint | null } {
    if (reported === null) return { usage: null, chargeNano: null, costNano: null };
    const { callId, model, policy, price, basis, inner, input } = this.prepared;
    const isPaid = policy.context === 'balance';
    const ownNames = [this.#route.providerModel, model.id, ...(input.model === null ? [] : [input.model])];
    const charge = chargeCall(reported, {
      model,
      prices: price.prices,
      basis,
      inner,
      ownNames,
      input,
      isPaid,
      priceFactorBasisPoints: this.#priceFactorBasisPoints,
      cost: this.#cost(),
    });
    const excess = charge.notes?.excess;
    if (excess) this.#parts.logger.warn({ callId, model: model.id, provider: this.#route.providerId, excess }, EXCESS);
    const unpriced = charge.notes?.unpriced;
    if (unpriced) this.#parts.unpricedUses.note(callId, model.id, this.#route.providerId, unpriced);
    return this.#notedAboveReservation(charge);
  }

  /** An estimate above the reservation is on the record: there was no limit to reserve by. */
  #notedAboveReservation(charge: CallCharge): CallCharge {
    const { callId, model, reservation, policy } = this.prepared;
    const reservedNano = atPriceFactor(reservation.amountNano, this.#priceFactorBasisPoints);
    const isAbove = charge.usage.source === 'estimated' && charge.chargeNano > reservedNano;
    if (!isAbove || policy.context !== 'balance') return charge;
    this.#parts.logger.warn({ callId, model: model.id }, ABOVE_RESERVATION);
    return { ...charge, notes: { ...charge.notes, reservedNano: reservedNano.toString() } };
  }

  /** What the route costs that served the call, by the prices that were in force when it began. */
  #cost(): CostTerms<AllowedModel> | null {
    const { policy, startedAtMs } = this.prepared;
    const { cost, providerId } = this.#route;
    if (cost === undefined) return null;
    const { prices } = priceInForce(cost, startedAtMs);
    return {
      prices,
      basis: chargeBasis(policy.operation, prices),
      ofInner({ model: { routes } }) {
        const found = routes[policy.operation.protocol.name].find((route) => route.providerId === providerId)?.cost;
        return found === undefined ? null : priceInForce(found, startedAtMs).prices;
      },
    };
  }

  /** The charge as the headers show it; `null` on a plan, which charges nothing. */
  #shownCharge(chargeNano: bigint | null): bigint | null {
    return this.prepared.policy.context === 'balance' ? (chargeNano ?? 0n) : null;
  }

  #setHeaders(chargeNano: bigint | null, remaining: Remaining, isFailed = false): void {
    const { client, policy, settings } = this.prepared;
    if (!settings.config.server.callHeaders) return;
    const own = callHeaders({ callId: this.prepared.callId, chargeNano, remaining });
    // An error that says what it is about has no need of the others.
    if (isFailed) {
      client.setHeaders(own);
      return;
    }
    const windows = remaining !== null && 'calls' in remaining ? remaining.windows : [];
    client.setHeaders({ ...own, ...policy.operation.planHeaders?.(windows, false) }, this.#rateHeaders);
  }

  #requestId(response: GatewayError): string {
    return response.requestId ?? this.prepared.requestId;
  }
}

const ABOVE_RESERVATION = 'what was delivered is estimated above the reservation: the model has no maxOutputTokens';
const EXCESS = 'a provider reported more than its model can use; the call is charged without the excess';

/** What remains, as the key may read it: a key that does not see the balance reads nothing of it. */
function shownTo({ principal }: PreparedCall, remaining: Remaining): Remaining {
  if (principal.seesBalance || (remaining !== null && 'calls' in remaining)) return remaining;
  return null;
}

/** What remains when a call has ended; a call on a plan that does not count gives its slot back. */
function remainingAfter(before: Remaining, availableNano: bigint | null, counts: boolean): Remaining {
  if (before !== null && 'calls' in before) {
    return counts ? before : { calls: before.calls + 1, windows: [] };
  }
  return availableNano === null ? before : { availableNano };
}
