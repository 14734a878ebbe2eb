import { factsText } from '../accounting/reservations/call-facts.ts';
import type { Admission, ReservationRequest } from '../accounting/reservations/reservation.ts';
import type { Reservations } from '../accounting/reservations/reservations.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { AdmissionQueue } from './admission-queue.ts';
import { AdmittedCall, type SettlementParts } from './admitted-call.ts';
import type { PreparedCall } from './prepared-call.ts';
import { refusalError } from './refusal.ts';
import { requestedOutput } from './reservation-estimate.ts';

interface AdmissionParts extends Omit<SettlementParts, 'onEnded'> {
  readonly reservations: Pick<Reservations, 'admit'>;
  readonly queue: AdmissionQueue;
  /** By which limits say when they free. */
  readonly databaseClock: Clock;
}

/**
 * Admits a call: reserves what it may use. When it resolves, the reservation is durable, until the call is settled or
 * released.
 *
 * @throws GatewayError if the call is refused; nothing is reserved then.
 */
export type Admit = (call: PreparedCall) => Promise<AdmittedCall>;

export function createAdmit({ reservations, queue, databaseClock, ...parts }: AdmissionParts): Admit {
  const settlementParts = { ...parts, onEnded: (accountId: string) => queue.ended(accountId) };

  /** At the concurrency limit a call waits in the admission queue, if its plan has one, behind all that wait already. */
  async function admitInTurn(request: ReservationRequest, { settings, client }: PreparedCall): Promise<Admission> {
    const { accountId } = request;
    const place = queue.arrive();
    const ahead = queue.limitsOf(accountId);
    let admission = ahead === null ? await reservations.admit(request) : CONCURRENCY_LIMITED;
    if (admission.isAdmitted || !isConcurrencyLimited(admission)) return admission;
    const { planId } = admission;
    const limits = ahead ?? settings.plans.find((plan) => plan.id === planId)?.queue ?? NO_QUEUE;
    const result = await queue.wait(accountId, limits, {
      place,
      async attempt() {
        admission = await reservations.admit(request);
        return !isConcurrencyLimited(admission);
      },
      onGone: (listener) => client.onGone(listener),
    });
    // The call was never admitted, so the client may send it to another node.
    if (result === 'closed') throw new GatewayError('shuttingDown', { headers: { connection: 'close' } });
    return admission;
  }

  return async function admit(call) {
    const request = reservationRequest(call);
    const admission = request.plan === null ? await reservations.admit(request) : await admitInTurn(request, call);
    if (!admission.isAdmitted) {
      const { policy, settings } = call;
      throw refusalError(admission.refusal, { policy, settings, nowMs: databaseClock.nowMs() });
    }
    call.report.isAdmitted = true;
    return new AdmittedCall(call, admission, databaseClock.nowMs(), settlementParts);
  };
}

const CONCURRENCY_LIMITED: Admission = {
  isAdmitted: false,
  refusal: { kind: 'packageConcurrencyLimited', retryAt: 'soon' },
  planId: null,
};
const NO_QUEUE = { length: 0, waitMs: 0 };

function isConcurrencyLimited(admission: Admission): boolean {
  return !admission.isAdmitted && admission.refusal.kind === 'packageConcurrencyLimited';
}

function reservationRequest(call: PreparedCall): ReservationRequest {
  const { policy, principal, input, model, routes, price, inner, reservation } = call;
  const [first] = routes;
  const isOnPlan = policy.context === 'coding';
  return {
    accountId: principal.accountId,
    callId: call.callId,
    keyId: principal.keyId,
    model: model.id,
    modelAliases: model.aliases,
    isKeyLimited: principal.isKeyLimited,
    isRateLimited: principal.isRateLimited,
    tokens: reservation.tokens,
    amountNano: isOnPlan ? null : reservation.amountNano,
    plan: isOnPlan
      ? {
          inputBytes: input.sizeBytes,
          outputTokensRequested: requestedOutput(input, model) ?? 0,
          tokens: reservation.tokens,
          innerModels: inner.map((each) => each.model.id),
        }
      : null,
    facts: factsText({
      context: policy.context,
      operation: policy.operation.name,
      provider: first!.providerId,
      providerModel: first!.providerModel,
      isStream: input.isStream,
      requestId: call.requestId,
      priceRule: price.rule,
      startedAtMs: call.startedAtMs,
    }),
  };
}
