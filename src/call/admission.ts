import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { Turns } from '../plans/turns.ts';
import type { Admission, Remaining, ReservationRequest } from '../reservations/reservation.ts';
import type { Reservations } from '../reservations/reservations.ts';
import type { Client } from './client.ts';
import { refusalError } from './refusal.ts';
import type { Settings } from './settings.ts';
import type { CallTerms } from './terms.ts';

/** A call that asks to be admitted, and who waits for that. */
export interface AdmissionRequest {
  readonly call: ReservationRequest;
  readonly terms: CallTerms;
  readonly settings: Settings;
  readonly client: Client;
}

export interface AdmissionParts {
  readonly reservations: Pick<Reservations, 'admit'>;
  readonly turns: Turns;
  readonly clock: Clock;
}

/**
 * Admits a call and says what is left for further ones. When it resolves, the reservation is durable.
 *
 * @throws GatewayError where the call is refused; nothing is reserved then.
 */
export type Admit = (request: AdmissionRequest) => Promise<Remaining>;

export function createAdmit({ reservations, turns, clock }: AdmissionParts): Admit {
  /** At the concurrency limit a call may wait for its turn, where the plan says so; nobody overtakes those who wait. */
  async function admitInTurn({ call, settings, client }: AdmissionRequest): Promise<Admission> {
    const { accountId } = call;
    const place = turns.arrive();
    const ahead = turns.limitsOf(accountId);
    let admission = ahead === null ? await reservations.admit(call) : CONCURRENCY_LIMITED;
    if (admission.isAdmitted || !isConcurrencyLimited(admission)) return admission;
    const { planId } = admission;
    const limits = ahead ?? settings.plans.find((plan) => plan.id === planId)?.queue ?? NO_QUEUE;
    const result = await turns.wait(accountId, limits, {
      place,
      async attempt() {
        admission = await reservations.admit(call);
        return !isConcurrencyLimited(admission);
      },
      onGone: (listener) => client.onGone(listener),
    });
    // It was never let in, so another node may serve it as if it had not been here.
    if (result === 'closed') throw new GatewayError('shuttingDown', { headers: { connection: 'close' } });
    return admission;
  }

  return async function admit(request) {
    const { call, terms } = request;
    const admission = call.plan === null ? await reservations.admit(call) : await admitInTurn(request);
    if (!admission.isAdmitted) throw refusalError(admission.refusal, terms, clock.nowMs());
    return admission.remaining;
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
