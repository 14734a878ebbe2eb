import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../accounting/accounts/principals.ts';
import type { RecordedCaller } from '../accounting/accounts/recording.ts';
import { type CallAttempt, callIdOf, type FailedRoute } from '../accounting/calls/call-outcome.ts';
import { type Claim, ClaimLostError } from '../accounting/repeats/stored-responses.ts';
import type { Admitted, Remaining } from '../accounting/reservations/reservation.ts';
import type { Settlement } from '../accounting/settlement/settlement.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { CallInput, Operation } from '../protocols/operations/operation.ts';
import type { FallbackTerms } from '../providers/catalog/attempt-terms.ts';
import type { Catalog, Model, Route } from '../providers/catalog/catalog.ts';
import type { RoutePermit } from '../providers/routing/health.ts';
import { UpstreamFailure } from '../providers/upstream/failure.ts';
import type { AllowedModel } from './allowed-models.ts';
import { costAtMostNano } from './attempt-cost.ts';
import { lostAttempt, madeAttempt, NO_ATTEMPTS, withAttempt } from './attempts.ts';
import { type CallEnd, remainingAfter, settlementRecord, shownCharge } from './call-end.ts';
import type { CallPricing, PricingSide } from './call-pricing.ts';
import type { CallReport, CallRequest, CallSession, EndpointPolicy } from './call-request.ts';
import type { Fallback } from './fallback.ts';
import { rateHeaders } from './relay/call-headers.ts';
import type { Client, ShownHeaders } from './relay/client.ts';
import { type CredentialRotation, reportResult } from './relay/failover.ts';
import type { KeepAlive } from './relay/keep-alive.ts';
import { shownHeaders } from './relay/shown-headers.ts';
import type { EstimatedInput } from './reservation-estimate.ts';
import type { RewrittenInput } from './rewritten-input.ts';
import type { Settings } from './settings.ts';
import { storedFailure } from './stored-failure.ts';
import type { TranslatedInput } from './translated-input.ts';

interface SettlementDependencies {
  readonly settlement: Pick<Settlement, 'end'>;
  readonly onEnded: (accountId: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The state of a call, from its checked body to its end. Fields are set in order, as they become known. Once admitted, a call ends exactly
 * once, with or without a charge.
 */
export class Call implements ShownHeaders {
  // These fields are set from the request.
  readonly policy: EndpointPolicy;
  readonly principal: Principal;
  readonly requestHeaders: IncomingHttpHeaders;
  /** The request as the client wrote it. */
  readonly clientInput: CallInput;
  readonly requestId: string;
  readonly callId: string;
  readonly client: Client;
  readonly settings: Settings;
  readonly report: CallReport;
  readonly claim: Claim | null;
  readonly caller: RecordedCaller | null;

  // The fields from here on are set while the call is prepared.
  startedAtMs!: number;
  /** The models as the group of the account calls them. */
  catalog!: Catalog;
  model!: Model;
  /** Routes in the order in which they are tried; at least one. */
  routes!: readonly Route[];
  /** The provider that signed the newest thinking block of the request; `null`: unknown, or only one provider serves the model. */
  signerId: string | null = null;
  /** Whether several providers serve the model. If so, signed blocks of the response are recorded. */
  hasSeveralMakers = false;
  /** Whether the request may contain reasoning of translated calls. */
  hasCarriers = false;
  /** `null` if the request names no session, or if there is only one route and credential. */
  session: CallSession | null = null;
  /** Other models that the request names, such as a model for a tool. */
  inner!: readonly AllowedModel[];
  /** The prices in force. Before admission, this node estimates the database's clock; the admission reads the clock itself. */
  pricing!: CallPricing;
  /** The prices before and after a price change that is near; `null` if none is near. */
  sides: readonly PricingSide[] | null = null;

  /** Set if another model serves the call than the requested one. */
  fallback: Fallback | null = null;
  /** Number of fallbacks of the requested model that were considered. */
  fallbacksTried = 0;

  /** The request for the first route that needs a translation; `null`: none does, or it was not translated yet. */
  firstTranslation: TranslatedInput | null = null;
  /** The request for the first route with parameters; `null`: no route has any. */
  firstRewriting: RewrittenInput | null = null;
  /** What the requests ask for that the routes send without a translation; `null`: all send what the client wrote. */
  asks: readonly EstimatedInput[] | null = null;

  // The fields from here on are set by admission and attempts.
  /** The model at admission, whose limits count the call. */
  reservedModel!: Model;
  /** What the call reserved. */
  held!: CallPricing['reservation'];
  /** The plan that pays for the call; `null`: the balance does. */
  planId: string | null = null;
  route!: Route;
  /** The request as it is sent on the current route: that of the client, with the parameters of the route, or translated. */
  input: CallInput;
  /** The operation of the provider on the current route. */
  operation: Operation;
  /** The translation for the current route; `null`: the request is sent as it is. */
  translation: TranslatedInput | null = null;
  /** The request with the parameters of the current route; `null`: it has none. */
  rewriting: RewrittenInput | null = null;
  readonly failedRoutes: FailedRoute[] = [];
  /** The failure of the last attempt; `null`: none has failed. */
  lastFailure: unknown = null;
  /** Whether a failed attempt might have run, although another one followed. */
  hasLost = false;
  /** Comments of a silent stream; `null`: its model has none. */
  keepAlive: KeepAlive | null = null;
  /** Empty until an attempt fails. */
  attempts: readonly CallAttempt[] = NO_ATTEMPTS;
  /** The credentials of the route. */
  rotation!: Pick<CredentialRotation, 'currentName' | 'sentAtMs' | 'received' | 'ended' | 'costedAs'>;
  #admitted!: Admitted;
  /** An instant of the database's clock. */
  #admittedAtMs = 0;
  #permit: RoutePermit | null = null;
  /** What remains for the account, shown in response headers. */
  #remaining: Remaining = null;
  #chargeNano: bigint | null = null;
  #hasFailed = false;
  #isEnded = false;
  readonly #dependencies: SettlementDependencies;

  constructor(request: CallRequest, dependencies: SettlementDependencies) {
    this.policy = request.policy;
    this.principal = request.principal;
    this.requestHeaders = request.headers;
    this.clientInput = request.input;
    this.input = request.input;
    this.operation = request.policy.operation;
    this.requestId = request.requestId;
    this.callId = callIdOf(request.requestId);
    this.client = request.client;
    this.settings = request.settings;
    this.report = request.report;
    this.claim = request.claim;
    this.caller = request.caller;
    this.#dependencies = dependencies;
  }

  /** Called when the reservation is durable. From then on, `end` or `release` must be called. */
  admitted(admission: Admitted, atMs: number): void {
    this.#admitted = admission;
    if (this.sides !== null) this.pricing = this.sides[admission.side]!;
    this.reservedModel = this.model;
    this.held = this.pricing.reservation;
    this.planId = admission.planId ?? null;
    this.#admittedAtMs = atMs;
    this.#remaining = admission.remaining;
    this.route = this.routes[0]!;
    this.client.setHeaders(this);
    this.report.isAdmitted = true;
  }

  /** The fallbacks of the requested model; `null`: none, or the model is not known yet. */
  get fallbackTerms(): FallbackTerms | null {
    return ((this.fallback?.asked ?? this.model) as Model | undefined)?.fallbacks ?? null;
  }

  /** Whether a fallback of the requested model was not considered yet. */
  get hasFallbackLeft(): boolean {
    const terms = this.fallbackTerms;
    return terms !== null && this.fallbacksTried < terms.models.length;
  }

  /** Identifies the credential in use; `null`: its cost is not limited. */
  get costedCredential(): string | null {
    return (this.rotation as Call['rotation'] | undefined)?.costedAs ?? null;
  }

  get priceFactorBasisPoints(): number {
    return this.#admitted.priceFactorBasisPoints;
  }

  get isTokenLimited(): boolean {
    const { rates } = this.#admitted;
    return rates !== null && rates.tokens !== null;
  }

  /** Whether the call has ended, or its end was attempted and failed. False if creating its settlement record failed. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /**
   * @param failure the error of the previous attempt; `null` for the first one
   * @param translation the request in the protocol of the provider; `null`: it is not translated
   * @param rewriting the request with the parameters of the route; `null`: it has none, or they are in the translation
   */
  beginAttempt(
    route: Route,
    permit: RoutePermit,
    failure: GatewayError | null,
    translation: TranslatedInput | null,
    rewriting: RewrittenInput | null,
  ): void {
    if (failure !== null) {
      const { providerId, providerModel } = this.route;
      const afterMs = this.#dependencies.clock.nowMs() - this.startedAtMs;
      this.failedRoutes.push({ provider: providerId, model: providerModel, error: failure.code, afterMs });
    }
    this.route = route;
    this.#permit = permit;
    if (this.translation !== translation) {
      this.translation?.release();
      // If its route is tried again, the request is translated again.
      if (this.translation === this.firstTranslation) this.firstTranslation = null;
      this.translation = translation;
    }
    if (this.rewriting !== rewriting) {
      this.rewriting?.release();
      if (this.rewriting === this.firstRewriting) this.firstRewriting = null;
      this.rewriting = rewriting;
    }
    this.input = translation?.input ?? rewriting?.input ?? this.clientInput;
    this.operation = translation?.operation ?? this.policy.operation;
  }

  /** Records a failed attempt. An error that is not the provider's is none, and neither is one after the end of the call. */
  attemptFailed(error: unknown): void {
    if (this.#isEnded || !(error instanceof UpstreamFailure)) return;
    this.#addAttempt(error, this.#dependencies.clock.nowMs());
  }

  /** Called if another attempt follows although the failed one might have run. */
  attemptLost(): void {
    this.hasLost = true;
    this.attempts = lostAttempt(this.attempts, costAtMostNano(this));
  }

  /** @param error `null`: the provider answered */
  #addAttempt(error: UpstreamFailure | GatewayError | null, endedAtMs: number): void {
    this.attempts = withAttempt(this.attempts, madeAttempt(this, error, endedAtMs));
  }

  /** Called when a stream has begun without an error. This proves that the route works, however the stream ends. */
  began(): void {
    this.#permit!.began();
  }

  /**
   * Ends the call. It resolves when the charge is durable; only then may the last byte of a success be sent (`docs/architecture.md`,
   * "Invariants of money").
   * @throws GatewayError `settlementFailed` if the end could not be made durable and part of the response was delivered or is about to be;
   * for a failed call, the error itself
   */
  async end(end: CallEnd): Promise<void> {
    const { settlement, clock, logger } = this.#dependencies;
    const isFailed = end.status === 'failed';
    const trace = isFailed ? null : this.report.trace;
    if (!isFailed) reportResult(this.#permit!, end);
    const endedAtMs = clock.nowMs();
    // A failed call has recorded its attempts already.
    const isNoted = !isFailed && (end.error !== null || this.attempts.length > 0);
    if (isNoted) this.#addAttempt(end.error, endedAtMs);
    if (trace !== null) trace.settlement = { startedAtMs: endedAtMs, endedAtMs };
    try {
      const record = settlementRecord(this, end, endedAtMs);
      const { outcome } = record;
      // Until here, an error in creating the record leaves the call open, and it can still be released.
      this.#isEnded = true;
      const { availableNano } = await settlement.end(record);
      this.#dependencies.onEnded(outcome.accountId);
      this.report.outcome = outcome;
      this.claim?.settled(record.kept);
      // A stream's headers show the state at admission, because they are sent before settlement.
      if (isFailed || !this.input.isStream) {
        this.#remaining = remainingAfter(this.#remaining, availableNano, end.counts);
        this.#chargeNano = shownCharge(this.policy, outcome.chargeNano);
        this.#hasFailed = isFailed;
      }
    } catch (error) {
      if (error instanceof ClaimLostError) this.#isEnded = false;
      if (isFailed) throw error;
      logger.error({ err: error, callId: this.callId, chargedTokens: end.usage }, 'a call could not be settled');
      throw new GatewayError('settlementFailed', { cause: error });
    } finally {
      if (trace !== null) trace.settlement = { startedAtMs: endedAtMs, endedAtMs: clock.nowMs() };
    }
  }

  /**
   * Ends a failed call and releases its reservation. The call keeps its slots in windows only if it counts. If the provider may have
   * executed the call (`mayHaveRun`), later requests with the same `Idempotency-Key` get this failure.
   * @throws if the end could not be made durable
   */
  async release(error: GatewayError, mayHaveRun: boolean, counts: boolean): Promise<void> {
    const requestId = error.requestId ?? this.requestId;
    const end: CallEnd = {
      status: 'failed',
      usage: null,
      httpStatus: this.keepAlive !== null && this.client.hasBegun ? 200 : error.status,
      error,
      requestId,
      counts,
      firstByteAtMs: null,
      continuationKeys: [],
      response: this.claim !== null && mayHaveRun ? storedFailure(error, requestId) : null,
    };
    try {
      await this.end(end);
    } catch (failed) {
      if (!(failed instanceof ClaimLostError)) throw failed;
      // Another node has taken the claim and runs the call again. Repeated requests get the result of that run.
      await this.end({ ...end, response: null });
    }
  }

  /** The name by which the client asked for the model. */
  get askedModel(): string {
    return this.clientInput.model ?? this.model.id;
  }

  get headers(): Readonly<Record<string, string>> {
    const { budgets } = this.#admitted;
    return shownHeaders(this, {
      remaining: this.#remaining,
      chargeNano: this.#chargeNano,
      hasFailed: this.#hasFailed,
      budgets,
    });
  }

  get rateHeaders(): Readonly<Record<string, string>> | null {
    const { rates } = this.#admitted;
    if (rates === null || this.#hasFailed || !this.settings.config.server.callHeaders) return null;
    return rateHeaders(rates, this.#admittedAtMs, this);
  }
}
