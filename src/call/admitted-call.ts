import type { CallOutcome, FailedRoute } from '../billing/holds.ts';
import type { Model, Route } from '../catalog/catalog.ts';
import type { GatewayError } from '../errors/gateway-error.ts';
import type { KeptAnswer } from '../idempotency/kept-answer.ts';
import type { Clock } from '../lib/clock.ts';
import type { ChargeBasis, UsageFacts } from '../metering/usage-facts.ts';
import { chargeFor } from '../pricing/charge.ts';
import type { PriceInForce } from '../pricing/price.ts';
import type { AttemptResult, WholeAnswer } from './attempt.ts';
import { callHeaders, chargeHeaders } from './call-headers.ts';
import type { CallRequest } from './call-request.ts';
import type { Entitlement, Left } from './entitlement.ts';
import { keptFailure, keptSuccess, withCallHeaders } from './kept.ts';

/** What is known of a call once it has been let through. */
export interface AdmissionFacts {
  readonly callId: string;
  readonly model: Model;
  /** In force for hold and charge alike. */
  readonly price: PriceInForce;
  readonly basis: ChargeBasis;
  readonly startedAtMs: number;
  /** What the account has left with this call's hold set aside. */
  readonly left: Left;
}

/**
 * A call in the books, from its admission to its end: it ends once, with a charge or without, and what it came to is told
 * to its client and kept for its repeats.
 */
export class AdmittedCall {
  readonly facts: AdmissionFacts;
  readonly #request: CallRequest;
  readonly #entitlement: Entitlement;
  readonly #clock: Clock;
  readonly #failedRoutes: FailedRoute[] = [];
  #route: Route;
  #isEnded = false;

  /** `route` is the first one that the call may go over. */
  constructor(facts: AdmissionFacts, request: CallRequest, entitlement: Entitlement, route: Route, clock: Clock) {
    this.facts = facts;
    this.#request = request;
    this.#entitlement = entitlement;
    this.#route = route;
    this.#clock = clock;
    this.#tell(null, facts.left);
  }

  /** Whether the call has ended in the books, or that was tried in vain. */
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
   * Ends a call of which something was delivered, or is about to be. `answer` makes what its repeats get; it is stored
   * first and counts from the end on.
   *
   * @throws where that could not be made durable.
   */
  async settle(result: AttemptResult, answer?: () => WholeAnswer): Promise<void> {
    if (this.#request.claim !== undefined && answer !== undefined) {
      await this.#keep(keptSuccess(answer()), this.#charge(result.usage));
    }
    await this.#end(result);
  }

  /**
   * Keeps a failure for the call's repeats: the call may have been carried out, so they must not run it again.
   *
   * @throws where that could not be stored.
   */
  async keepFailure(answer: GatewayError): Promise<void> {
    if (this.#request.claim !== undefined) await this.#keep(keptFailure(answer, this.#requestId(answer)), null);
  }

  /**
   * Ends a call that came to nothing; whatever it holds is given back.
   *
   * @throws where that could not be made durable yet.
   */
  async release(answer: GatewayError): Promise<void> {
    await this.#end({
      status: 'failed',
      usage: null,
      httpStatus: answer.status,
      error: answer,
      requestId: this.#requestId(answer),
      firstByteAtMs: null,
      affinityKeys: [],
    });
  }

  async #keep(answer: KeptAnswer, chargeNano: bigint | null): Promise<void> {
    const { callId, startedAtMs } = this.facts;
    const headers = chargeHeaders(callId, this.#toldCharge(chargeNano));
    await this.#request.claim!.keep({ callId, startedAtMs }, withCallHeaders(answer, headers));
  }

  async #end(result: AttemptResult): Promise<void> {
    this.#isEnded = true;
    const { principal, terms, input, claim } = this.#request;
    const { callId, model, price, startedAtMs } = this.facts;
    const chargeNano = this.#charge(result.usage);
    const outcome: CallOutcome = {
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
      endedAtMs: this.#clock.nowMs(),
      usage: result.usage,
      price,
      chargeNano,
    };
    const left = await this.#entitlement.end(outcome, this.facts.left);
    claim?.settled();
    // A stream says what was known at its beginning, also one that is begun only now.
    if (!input.isStream || result.status === 'failed') this.#tell(this.#toldCharge(chargeNano), left);
  }

  #charge(usage: UsageFacts | null): bigint | null {
    return usage === null ? null : chargeFor(usage, this.facts.price.prices, this.facts.basis);
  }

  /** What the client is told of a charge: on a plan there is none. */
  #toldCharge(chargeNano: bigint | null): bigint | null {
    return this.#request.terms.context === 'balance' ? (chargeNano ?? 0n) : null;
  }

  #tell(chargeNano: bigint | null, left: Left): void {
    const { client, settings } = this.#request;
    if (!settings.config.server.callHeaders) return;
    client.tell(callHeaders({ callId: this.facts.callId, chargeNano, left }));
  }

  #requestId(answer: GatewayError): string {
    return answer.requestId ?? this.#request.requestId;
  }
}
