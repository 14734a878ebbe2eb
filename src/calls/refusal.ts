import type { Refusal } from '../accounting/reservations/reservation.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { EndpointPolicy } from './endpoint-policy.ts';
import { retryAfter, SOON } from './retry-after.ts';

/** The error of a refused call at an endpoint with this policy. */
export function refusalError(refusal: Refusal, { moneyStatus }: EndpointPolicy, nowMs: number): GatewayError {
  const { kind, retryAt, isPaymentRequired, param } = refusal;
  return new GatewayError(kind, {
    ...(isPaymentRequired && { status: moneyStatus }),
    ...(param !== undefined && { param }),
    ...(retryAt !== null && { headers: retryAt === 'soon' ? SOON : retryAfter(retryAt, nowMs) }),
  });
}
