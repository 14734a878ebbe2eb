import type { CallOutcome, FailedRoute } from '../accounting/ledger/call-outcome.ts';
import type { Remaining } from '../accounting/reservations/reservation.ts';
import type { Settlement } from '../accounting/settlement/settlement.ts';
import type { MadeState } from '../accounting/settlement/settlement-record.ts';
import type { StoredResponse } from '../accounting/settlement/stored-response.ts';
import { ClaimLostError } from '../accounting/settlement/stored-responses.ts';
import type { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { totalTokens, type UsageFacts } from '../protocols/metering/usage-facts.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import { chargeCall } from './call-charge.ts';
import { storedFailure, storedSuccess, withCallHeaders } from './idempotency/stored-outcome.ts';
import type { PreparedCall } from './prepared-call.ts';
import type { AttemptResult, WholeAnswer } from './relay/attempt.ts';
import { callHeaders, chargeHeaders } from './relay/call-headers.ts';

/** What is known of a call that came to nothing. */
export interface Failure {
  /** Whether it may have been carried out all the same. */
  readonly mayHaveRun: boolean;
  /** Whether it counts although nothing could be delivered. */
  readonly counts: boolean;
}

/** What a call is settled with. */
export interface SettlementParts {
  readonly settlement: Pick<Settlement, 'end'>;
  /** A call of the account has ended: one that waits for its turn may go on. */
  readonly onEnded: (accountId: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * A call from its admission to its end: it ends once, with a charge or without, and what it came to is told to its client
 * and kept for its repeats.
 */
export class AdmittedCall {
  readonly prepared: PreparedCall;
  /** What the account has left with this call's reservation set aside. */
  readonly #remaining: Remaining;
  readonly #books: SettlementParts;
  readonly #failedRoutes: FailedRoute[] = [];
  #route: Route;
  #isEnded = false;

  constructor(prepared: PreparedCall, remaining: Remaining, books: SettlementParts) {
    this.prepared = prepared;
    this.#remaining = remaining;
    this.#books = books;
    this.#route = prepared.routes[0]!;
    this.#setHeaders(null, remaining);
  }

  /** Whether the call has ended, or that was tried in vain. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** The route that the call is on its way over, or was last. */
  get route(): Route {
    return this.#route;
  }

  /** The call goes over a route; `failure` is what the one before, if there was one, did not take it with. */
  goesOver(route: Route, failure: GatewayError | null): void {
    if (failure !== null) {
      const { providerId, providerModel } = this.#route;
      this.#failedRoutes.push({ provider: providerId, model: providerModel, error: failure.code });
    }
    this.#route = route;
  }

  /**
   * Ends a call of which something was delivered, or is about to be. `answer` makes what its repeats get.
   *
   * @throws where that could not be made durable.
   */
  async settle(result: AttemptResult, answer?: () => WholeAnswer): Promise<void> {
    const isKept = this.prepared.claim !== undefined && answer !== undefined;
    await this.#end(result, isKept ? storedSuccess(answer()) : null);
  }

  /**
   * Ends a call that came to nothing; the money that it holds is given back, and its place in windows and limits of calls
   * unless it counts. Where it may have been carried out all the same, its repeats get the failure instead of running it
   * again.
   *
   * @throws where that could not be made durable.
   */
  async release(answer: GatewayError, { mayHaveRun, counts }: Failure): Promise<void> {
    const requestId = this.#requestId(answer);
    const result: AttemptResult = {
      status: 'failed',
      usage: null,
      httpStatus: answer.status,
      error: answer,
      requestId,
      counts,
      firstByteAtMs: null,
      continuationKeys: [],
    };
    const isKept = this.prepared.claim !== undefined && mayHaveRun;
    try {
      await this.#end(result, isKept ? storedFailure(answer, requestId) : null);
    } catch (error) {
      if (!(error instanceof ClaimLostError)) throw error;
      // Its repeats run elsewhere by now, and get what that comes to.
      await this.#end(result, null);
    }
  }

  async #end(result: AttemptResult, answer: StoredResponse | null): Promise<void> {
    this.#isEnded = true;
    const { principal, terms, input, claim } = this.prepared;
    const isOnPlan = terms.context === 'coding';
    const { counts } = result;
    const outcome = this.#outcome(result);
    const { chargeNano, usage } = outcome;
    const kept = answer && withCallHeaders(answer, chargeHeaders(outcome.callId, this.#shownCharge(chargeNano)));
    let remaining: Remaining;
    try {
      const { availableNano } = await this.#books.settlement.end({
        outcome,
        plan: isOnPlan ? { counts, tokens: counts && usage !== null ? totalTokens(usage) : 0 } : null,
        key: principal.isKeyLimited ? { counts, chargeNano: chargeNano ?? 0n } : null,
        kept: kept && claim!.answered(this.prepared, kept),
        made: this.#made(result.continuationKeys, usage),
      });
      this.#books.onEnded(outcome.accountId);
      remaining = remainingAfter(this.#remaining, availableNano, counts);
    } catch (error) {
      this.#isEnded = !(error instanceof ClaimLostError);
      throw error;
    }
    claim?.settled(kept);
    // A stream says what was known at its beginning, also one that is begun only now.
    if (!input.isStream || result.status === 'failed') this.#setHeaders(this.#shownCharge(chargeNano), remaining);
  }

  #made(keys: readonly string[], usage: UsageFacts | null): MadeState | null {
    if (keys.length === 0) return null;
    const made = {
      keys,
      model: this.prepared.model.id,
      providerId: this.#route.providerId,
      atMs: this.#books.clock.nowMs(),
    };
    return usage === null ? made : { ...made, totalTokens: totalTokens(usage) };
  }

  #outcome(result: AttemptResult): CallOutcome {
    const { principal, terms, input, callId, model, price, startedAtMs } = this.prepared;
    const { usage, notes, chargeNano } = this.#charge(result.usage);
    const isOnPlan = terms.context === 'coding';
    return {
      accountId: principal.accountId,
      callId,
      keyId: principal.keyId,
      context: terms.context,
      operation: terms.operation.name,
      model: model.id,
      provider: this.#route.providerId,
      providerModel: this.#route.providerModel,
      failedRoutes: this.#failedRoutes,
      isStream: input.isStream,
      status: result.status,
      httpStatus: result.httpStatus,
      errorCode: result.error?.code ?? null,
      requestId: result.requestId,
      startedAtMs,
      firstByteMs: result.firstByteAtMs === null ? null : result.firstByteAtMs - startedAtMs,
      endedAtMs: this.#books.clock.nowMs(),
      usage,
      notes,
      price,
      chargeNano: isOnPlan ? null : chargeNano,
    };
  }

  /** What a provider reports is believed up to what the call can have used. */
  #charge(reported: UsageFacts | null): Pick<CallOutcome, 'usage' | 'notes' | 'chargeNano'> {
    if (reported === null) return { usage: null, chargeNano: null };
    const { callId, model, price, basis, inner, input } = this.prepared;
    const ownNames = [this.#route.providerModel, model.id, ...(input.model === null ? [] : [input.model])];
    const charge = chargeCall(reported, { model, prices: price.prices, basis, inner, ownNames, input });
    const excess = charge.notes?.excess;
    if (excess) this.#books.logger.warn({ callId, model: model.id, provider: this.#route.providerId, excess }, EXCESS);
    return charge;
  }

  /** What the client is told of a charge: on a plan there is none. */
  #shownCharge(chargeNano: bigint | null): bigint | null {
    return this.prepared.terms.context === 'balance' ? (chargeNano ?? 0n) : null;
  }

  #setHeaders(chargeNano: bigint | null, remaining: Remaining): void {
    const { client, settings } = this.prepared;
    if (!settings.config.server.callHeaders) return;
    client.setHeaders(callHeaders({ callId: this.prepared.callId, chargeNano, remaining }));
  }

  #requestId(answer: GatewayError): string {
    return answer.requestId ?? this.prepared.requestId;
  }
}

const EXCESS = 'a provider reported more than its model can use; the call is charged without the excess';

/** What is left when a call has ended; a call of a plan that does not count gives its slot back. */
function remainingAfter(before: Remaining, availableNano: bigint | null, counts: boolean): Remaining {
  if (before !== null && 'calls' in before) return counts ? before : { calls: before.calls + 1 };
  return availableNano === null ? before : { availableNano };
}
