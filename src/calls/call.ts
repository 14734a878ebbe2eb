import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../accounting/accounts/principals.ts';
import type { RecordedCaller } from '../accounting/accounts/recording.ts';
import { type CallAttempt, callIdOf, type FailedRoute } from '../accounting/calls/call-outcome.ts';
import type { StoredResponse } from '../accounting/repeats/stored-response.ts';
import { type Claim, ClaimLostError } from '../accounting/repeats/stored-responses.ts';
import type { Admitted, Remaining } from '../accounting/reservations/reservation.ts';
import type { Settlement } from '../accounting/settlement/settlement.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { CallInput, Operation } from '../protocols/operations/operation.ts';
import type { Catalog, Model, Route } from '../providers/catalog/catalog.ts';
import type { RoutePermit } from '../providers/routing/health.ts';
import { UpstreamFailure } from '../providers/upstream/failure.ts';
import type { AllowedModel } from './allowed-models.ts';
import { failedAttempt, NO_ATTEMPTS, withAttempt } from './attempts.ts';
import { type CallEnd, settlementRecord, shownCharge } from './call-end.ts';
import type { CallPricing, PricingSide } from './call-pricing.ts';
import type { CallReport, CallRequest, CallSession, EndpointPolicy } from './call-request.ts';
import { budgetHeaders, callHeaders, rateHeaders, translationHeaders } from './relay/call-headers.ts';
import type { Client, ShownHeaders } from './relay/client.ts';
import { type CredentialRotation, reportResult } from './relay/failover.ts';
import type { Settings } from './settings.ts';
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
  /** `null` if the request names no session, or if there is only one route and credential. */
  session: CallSession | null = null;
  /** Other models that the request names, such as a model for a tool. */
  inner!: readonly AllowedModel[];
  /** The prices in force. Before admission, this node estimates the database's clock; the admission reads the clock itself. */
  pricing!: CallPricing;
  /** The prices before and after a price change that is near; `null` if none is near. */
  sides: readonly PricingSide[] | null = null;

  /** The request for the first route that needs a translation; `null`: none does, or it was not translated yet. */
  firstTranslation: TranslatedInput | null = null;

  // The fields from here on are set by admission and attempts.
  route!: Route;
  /** The request as it is sent on the current route: that of the client, or its translation. */
  input: CallInput;
  /** The operation of the provider on the current route. */
  operation: Operation;
  /** The translation for the current route; `null`: the request is sent as it is. */
  translation: TranslatedInput | null = null;
  readonly failedRoutes: FailedRoute[] = [];
  /** Empty until an attempt fails. */
  attempts: readonly CallAttempt[] = NO_ATTEMPTS;
  /** The credentials of the route. */
  rotation!: Pick<CredentialRotation, 'currentName' | 'sentAtMs'>;
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
    this.#admittedAtMs = atMs;
    this.#remaining = admission.remaining;
    this.route = this.routes[0]!;
    this.client.setHeaders(this);
    this.report.isAdmitted = true;
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
   * @param translation the request in the protocol of the provider; `null`: as the client wrote it
   */
  beginAttempt(
    route: Route,
    permit: RoutePermit,
    failure: GatewayError | null,
    translation: TranslatedInput | null,
  ): void {
    if (failure !== null) {
      const { providerId, providerModel } = this.route;
      const afterMs = this.#dependencies.clock.nowMs() - this.startedAtMs;
      this.failedRoutes.push({ provider: providerId, model: providerModel, error: failure.code, afterMs });
    }
    this.route = route;
    this.#permit = permit;
    if (translation === null && this.translation === null) return;
    this.translation = translation;
    this.input = translation?.input ?? this.clientInput;
    this.operation = translation?.operation ?? this.policy.operation;
  }

  /** Records a failed attempt. An error that is not the provider's is none, and neither is one after the end of the call. */
  attemptFailed(error: unknown): void {
    if (this.#isEnded || !(error instanceof UpstreamFailure)) return;
    this.#addAttempt(error, this.#dependencies.clock.nowMs());
  }

  /** @param error `null`: the provider answered */
  #addAttempt(error: UpstreamFailure | GatewayError | null, endedAtMs: number): void {
    const { route, rotation, startedAtMs, settings } = this;
    const { providerId: provider, providerModel: model } = route;
    const { currentName: credential, sentAtMs } = rotation;
    const { texts } = settings.providers.get(provider).hidden;
    this.attempts = withAttempt(this.attempts, {
      provider,
      model,
      ...(credential !== null && { credential }),
      startedMs: sentAtMs - startedAtMs,
      durationMs: endedAtMs - sentAtMs,
      ...(error !== null && failedAttempt(error, texts)),
    });
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
      httpStatus: error.status,
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

  /** The headers of a non-streaming response show the state after settlement. */
  get headers(): Readonly<Record<string, string>> {
    const { callId, policy, settings, principal } = this;
    const translated = this.translation === null ? {} : translationHeaders(this.translation);
    if (!settings.config.server.callHeaders) return translated;
    const remaining = this.#remaining;
    const isOfPlan = remaining !== null && 'calls' in remaining;
    // Some keys may not see the balance.
    const own = {
      ...translated,
      ...callHeaders(callId, this.#chargeNano, isOfPlan || principal.seesBalance ? remaining : null),
      ...(policy.context === 'balance' && budgetHeaders(this.#admitted.budgets, this.#chargeNano ?? 0n)),
    };
    // If a limit of the plan refuses the call, the error contains its own plan headers.
    if (this.#hasFailed || policy.operation.planHeaders === undefined) return own;
    return { ...own, ...policy.operation.planHeaders(isOfPlan ? remaining.windows : [], false) };
  }

  get rateHeaders(): Readonly<Record<string, string>> | null {
    const { rates } = this.#admitted;
    if (rates === null || this.#hasFailed || !this.settings.config.server.callHeaders) return null;
    return rateHeaders(rates, this.#admittedAtMs, this);
  }
}

function storedFailure(failure: GatewayError, requestId: string): StoredResponse {
  const { kind, status, code, message, param, type, retry, headers } = failure;
  // The message can come from a provider, and PostgreSQL stores no unpaired surrogates.
  const words = { message: message.toWellFormed(), param: param?.toWellFormed() ?? null };
  const error = { kind, status, code, ...words, type: type ?? null, retry, headers, requestId };
  return { head: { error, callHeaders: {} }, body: null };
}

/** If a failed call on a plan does not count, its slot is free again. */
function remainingAfter(before: Remaining, availableNano: bigint | null, counts: boolean): Remaining {
  if (before !== null && 'calls' in before) {
    return counts ? before : { calls: before.calls + 1, windows: [] };
  }
  return availableNano === null ? before : { availableNano };
}
