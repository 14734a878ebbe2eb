import type { Settlement } from '../accounting/settlement/settlement.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { CallAdmission } from './admission.ts';
import { releaseBodies } from './body-memory.ts';
import { Call } from './call.ts';
import type { CallRequest } from './call-request.ts';
import type { Fallbacks } from './fallbacks.ts';
import type { Preparation } from './preparation.ts';
import { startKeepAlive, withStatus } from './relay/early-opening.ts';
import { countsDespiteFailure, failureDetails, mayHaveRun, toResponse } from './relay/failover.ts';
import { translatedError } from './relay/translated-error.ts';
import { RouteRelay, type RouteRelayDependencies } from './route-relay.ts';

interface CallRunnerDependencies extends RouteRelayDependencies {
  readonly preparation: Preparation;
  readonly fallbacks: Fallbacks;
  readonly admission: CallAdmission;
  readonly settlement: Pick<Settlement, 'canTakeCalls' | 'end'>;
  /** Called after each call, so that the admission queue can admit the account's next call. */
  readonly onEnded: (accountId: string) => void;
}

export class CallRunner {
  readonly #dependencies: CallRunnerDependencies;
  readonly #routes: RouteRelay;

  constructor(dependencies: CallRunnerDependencies) {
    this.#dependencies = dependencies;
    this.#routes = new RouteRelay(dependencies);
  }

  /**
   * Runs a call from preparation to its end. An admitted call ends once: it is settled after its response, or released if it fails.
   * @throws GatewayError if the call is refused or fails before its response has begun
   */
  async run(request: CallRequest): Promise<void> {
    const { preparation, admission, settlement, clock } = this.#dependencies;
    const call = new Call(request, this.#dependencies);
    const { client } = call;
    // What every call does is in one function: each further asynchronous one costs two promises.
    try {
      let closed: GatewayError | null = null;
      try {
        const preparing = preparation.prepare(call);
        if (preparing !== undefined) await preparing;
      } catch (error) {
        closed = await this.#prepareFallback(call, error);
      }
      if (!settlement.canTakeCalls) throw new GatewayError('journalUnwritable');
      const { trace } = call.report;
      const admittingAtMs = trace === null ? 0 : clock.nowMs();
      try {
        await admission.admit(call);
      } catch (error) {
        await this.#admitFallback(call, closed, error);
      }
      if (trace !== null) trace.admission = { startedAtMs: admittingAtMs, endedAtMs: clock.nowMs() };
      call.keepAlive = startKeepAlive(call);
      try {
        await this.#routes.relay(call);
      } catch (failed) {
        const failure = await this.#relayOverFallbacks(call, failed);
        if (failure === null) return;
        const response = await this.#fail(call, failure);
        if (!client.hasBegun) throw response;
        if (!client.hasEnded && !client.isGone)
          client.endWithError(withStatus(response, call.policy.operation), call.requestId);
      }
    } finally {
      call.keepAlive?.stop();
      releaseBodies(call);
    }
  }

  /** Prepares a fallback of a model that cannot serve the call. Returns why it cannot. @throws the error if there is no fallback */
  async #prepareFallback(call: Call, error: unknown): Promise<GatewayError> {
    if (!(error instanceof GatewayError) || !(await this.#dependencies.fallbacks.next(call, error))) throw error;
    return error;
  }

  /**
   * Admits the next fallback if the terms of the plan refused the one before. The client has not asked for that, so without another one
   * it gets the failure of its own model.
   * @param closed why a fallback serves the call; `null`: the requested model does
   */
  async #admitFallback(call: Call, closed: GatewayError | null, refused: unknown): Promise<void> {
    const { admission, fallbacks } = this.#dependencies;
    for (let error = refused; ; ) {
      if (closed === null || !isRefusedByPlan(error)) throw error;
      if (!(await fallbacks.next(call, closed))) throw closed;
      try {
        await admission.admit(call);
        return;
      } catch (again) {
        error = again;
      }
    }
  }

  /**
   * Relays a failed call over its fallbacks. Returns `null` if one of them served it, or else the failure of the requested model, or a later
   * one if a call might have run.
   */
  async #relayOverFallbacks(call: Call, failed: unknown): Promise<CallFailure | null> {
    const { fallbacks } = this.#dependencies;
    const { client } = call;
    let first: CallFailure | null = null;
    for (let error = failed; ; ) {
      const failure = { error, response: responseOf(call, error) };
      const isOver = call.isEnded || client.isCommitted || client.isGone;
      if (isOver || !(await fallbacks.next(call, error))) {
        return first === null || call.hasLost || mayHaveRun(error) ? failure : first;
      }
      first ??= failure;
      try {
        await this.#routes.relay(call);
        return null;
      } catch (again) {
        error = again;
      }
    }
  }

  /** Releases the reservation of a failed call that has not ended yet. Returns the error for the client. */
  async #fail(call: Call, { error, response }: CallFailure): Promise<GatewayError> {
    const { logger } = this.#dependencies;
    const { callId } = call;
    if (response.status >= 500) logger.warn({ callId, ...failureDetails(call.route, error) }, 'a call failed');
    // From here on, the status is in the record.
    if (!call.client.hasBegun) call.keepAlive?.stop();
    if (!call.isEnded) {
      await call
        .release(response, call.hasLost || mayHaveRun(error), countsDespiteFailure(error))
        .catch((failed: unknown) => {
          logger.error({ err: failed, callId }, 'failed to record the end of a failed call');
        });
    }
    return response;
  }
}

interface CallFailure {
  readonly error: unknown;
  /** The error for the client. */
  readonly response: GatewayError;
}

/** The error for the client. The current route decides whether it must be translated. */
function responseOf({ translation, policy }: Call, error: unknown): GatewayError {
  return translation === null ? toResponse(error) : translatedError(toResponse(error), policy.operation);
}

/** Whether the plan does not include a model, or the parameters of its routes ask for more output than the plan allows. */
function isRefusedByPlan(error: unknown): boolean {
  const kind = error instanceof GatewayError ? error.kind : null;
  return kind === 'modelNotInPackage' || kind === 'packageOutputLimitExceeded';
}
