import type { FailedRoute } from '../accounting/calls/call-outcome.ts';
import type { StoredResponse } from '../accounting/repeats/stored-response.ts';
import { ClaimLostError } from '../accounting/repeats/stored-responses.ts';
import type { Admitted, Remaining } from '../accounting/reservations/reservation.ts';
import type { Settlement } from '../accounting/settlement/settlement.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import type { RoutePermit } from '../providers/routing/health.ts';
import { type CallEnd, settlementRecord, shownCharge } from './call-end.ts';
import type { PreparedCall } from './prepared-call.ts';
import { budgetHeaders, callHeaders, rateHeaders } from './relay/call-headers.ts';
import type { ShownHeaders } from './relay/client.ts';
import { reportResult } from './relay/failover.ts';

/** The parts that settle a call. */
export interface SettlementParts {
  readonly settlement: Pick<Settlement, 'end'>;
  /** A call of the account has ended: the next one in the admission queue may try again. */
  readonly onEnded: (accountId: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * A call from its admission to its end. It says what the headers of the response are. It ends once, with a charge or without, and
 * its end makes the stored response for its repeats.
 */
export class AdmittedCall implements ShownHeaders {
  readonly prepared: PreparedCall;
  readonly priceFactorBasisPoints: number;
  readonly isTokenLimited: boolean;
  readonly failedRoutes: FailedRoute[] = [];
  readonly #rates: Admitted['rates'];
  readonly #budgets: Admitted['budgets'];
  /** When it was admitted, by the database's clock. */
  readonly #admittedAtMs: number;
  readonly #parts: SettlementParts;
  /** What remains to the account: with this call's reservation taken off, or after its end if the headers say that. */
  #remaining: Remaining;
  /** As the headers show it. */
  #chargeNano: bigint | null = null;
  #hasFailed = false;
  #route: Route;
  #permit: RoutePermit | null = null;
  #isEnded = false;

  constructor(prepared: PreparedCall, admitted: Admitted, admittedAtMs: number, parts: SettlementParts) {
    const { remaining, priceFactorBasisPoints, rates, budgets } = admitted;
    this.prepared = prepared;
    this.priceFactorBasisPoints = priceFactorBasisPoints;
    this.isTokenLimited = rates !== null && rates.tokens !== null;
    this.#remaining = remaining;
    this.#rates = rates;
    this.#budgets = budgets;
    this.#admittedAtMs = admittedAtMs;
    this.#parts = parts;
    this.#route = prepared.routes[0]!;
    prepared.client.setHeaders(this);
  }

  /** Whether the call has ended, or its end was tried and failed; not if there was nothing to try because it could not be recorded. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The route of the current attempt, or of the last one. */
  get route(): Route {
    return this.#route;
  }

  /** Begins an attempt at a route; `failure` is the error of the attempt before, `null` for the first one. */
  goesOver(route: Route, permit: RoutePermit, failure: GatewayError | null): void {
    if (failure !== null) {
      const { providerId, providerModel } = this.#route;
      const afterMs = this.#parts.clock.nowMs() - this.prepared.startedAtMs;
      this.failedRoutes.push({ provider: providerId, model: providerModel, error: failure.code, afterMs });
    }
    this.#route = route;
    this.#permit = permit;
  }

  /** Reports that a stream has begun with something other than an error: the route works, however the stream ends. */
  began(): void {
    this.#permit!.began();
  }

  /**
   * Ends the call. It resolves when the charge is durable; only then may the last byte of a success leave
   * (`docs/architecture.md`, "Invariants of money").
   *
   * @throws GatewayError `settlementFailed` if the end of a call of which something was delivered, or is about to be, could not
   * be made durable; the error itself for a failure.
   */
  async end(end: CallEnd): Promise<void> {
    const { prepared } = this;
    const { settlement, clock, logger } = this.#parts;
    const isFailed = end.status === 'failed';
    const trace = isFailed ? null : prepared.report.trace;
    if (!isFailed) reportResult(this.#permit!, end);
    const endedAtMs = clock.nowMs();
    if (trace !== null) trace.settlement = { startedAtMs: endedAtMs, endedAtMs };
    try {
      const record = settlementRecord(this, end, endedAtMs);
      const { outcome } = record;
      // Until here nothing is settled, and what fails leaves a call that can be released.
      this.#isEnded = true;
      const { availableNano } = await settlement.end(record);
      this.#parts.onEnded(outcome.accountId);
      prepared.report.outcome = outcome;
      prepared.claim?.settled(record.kept);
      // The headers of a stream say what was known at admission, also if the stream has not begun yet.
      if (isFailed || !prepared.input.isStream) {
        this.#remaining = remainingAfter(this.#remaining, availableNano, end.counts);
        this.#chargeNano = shownCharge(prepared, outcome.chargeNano);
        this.#hasFailed = isFailed;
      }
    } catch (error) {
      if (error instanceof ClaimLostError) this.#isEnded = false;
      if (isFailed) throw error;
      logger.error({ err: error, callId: prepared.callId, chargedTokens: end.usage }, 'a call could not be settled');
      throw new GatewayError('settlementFailed', { cause: error });
    } finally {
      if (trace !== null) trace.settlement = { startedAtMs: endedAtMs, endedAtMs: clock.nowMs() };
    }
  }

  /**
   * Ends a call that failed. Its reservation is released, and so are its slots in windows and limits of calls, unless the
   * call counts although nothing was delivered. Where the provider may have carried it out (`mayHaveRun`), repeats get the
   * failure and do not run the call again.
   *
   * @throws where the end could not be made durable.
   */
  async release(error: GatewayError, mayHaveRun: boolean, counts: boolean): Promise<void> {
    const { claim } = this.prepared;
    const requestId = error.requestId ?? this.prepared.requestId;
    const end: CallEnd = {
      status: 'failed',
      usage: null,
      httpStatus: error.status,
      error,
      requestId,
      counts,
      firstByteAtMs: null,
      continuationKeys: [],
      response: claim !== null && mayHaveRun ? storedFailure(error, requestId) : null,
    };
    try {
      await this.end(end);
    } catch (failed) {
      if (!(failed instanceof ClaimLostError)) throw failed;
      // Another node has the claim and runs the call; repeats get its result.
      await this.end({ ...end, response: null });
    }
  }

  /** Made when a response takes them: those of a whole response differ before and after its end. */
  get headers(): Readonly<Record<string, string>> {
    const { callId, policy, settings, principal } = this.prepared;
    if (!settings.config.server.callHeaders) return {};
    const remaining = this.#remaining;
    const isOfPlan = remaining !== null && 'calls' in remaining;
    // A key that does not see the balance reads nothing of it.
    const own = {
      ...callHeaders(callId, this.#chargeNano, isOfPlan || principal.seesBalance ? remaining : null),
      ...(policy.context === 'balance' && budgetHeaders(this.#budgets, this.#chargeNano ?? 0n)),
    };
    // An error that says what it is about has no need of the others.
    if (this.#hasFailed || policy.operation.planHeaders === undefined) return own;
    return { ...own, ...policy.operation.planHeaders(isOfPlan ? remaining.windows : [], false) };
  }

  /** What is left of limits by the minute, as the client reads it; `null`: nothing is said of them. */
  get rateHeaders(): Readonly<Record<string, string>> | null {
    const { settings } = this.prepared;
    if (this.#rates === null || this.#hasFailed || !settings.config.server.callHeaders) return null;
    return rateHeaders(this.#rates, this.#admittedAtMs, this.prepared);
  }
}

/** A failure as repeats of its call get it. */
function storedFailure(failure: GatewayError, requestId: string): StoredResponse {
  const { kind, status, code, message, param, type, retry, headers } = failure;
  // The message may be a provider's, and PostgreSQL stores no unpaired surrogates.
  const words = { message: message.toWellFormed(), param: param?.toWellFormed() ?? null };
  const error = { kind, status, code, ...words, type: type ?? null, retry, headers, requestId };
  return { head: { error, callHeaders: {} }, body: null };
}

/** What remains when a call has ended; a call on a plan that does not count gives its slot back. */
function remainingAfter(before: Remaining, availableNano: bigint | null, counts: boolean): Remaining {
  if (before !== null && 'calls' in before) {
    return counts ? before : { calls: before.calls + 1, windows: [] };
  }
  return availableNano === null ? before : { availableNano };
}
