import type { Remaining } from '../../accounting/reservations/reservation.ts';
import { formatYuan } from '../../lib/yuan.ts';
import type { RateStatus } from '../../protocols/rate-status.ts';
import type { EndpointPolicy } from '../endpoint-policy.ts';
import type { Settings } from '../settings.ts';

/** What the gateway's own headers say about a call. */
interface CallStatus {
  readonly callId: string;
  /** The charge; `null` if it is not known yet, and on plans, which charge nothing. */
  readonly chargeNano: bigint | null;
  readonly remaining: Remaining;
}

/** The names of the headers, which CORS exposes to web pages. */
export const CALL_HEADER_NAMES = [
  'x-faregate-available-yuan',
  'x-faregate-call-id',
  'x-faregate-calls-left',
  'x-faregate-charge-yuan',
  'x-faregate-repeated',
  'x-faregate-reset-at',
] as const;

/** Marks a stored response: that of an earlier call with the same Idempotency-Key. */
export const REPEATED_HEADER = { 'x-faregate-repeated': 'true' } as const;

export type CallHeaders = Readonly<Partial<Record<(typeof CALL_HEADER_NAMES)[number], string>>>;

/** The headers of a call; amounts are decimals in yuan (`docs/calls.md`). */
export function callHeaders({ callId, chargeNano, remaining }: CallStatus): CallHeaders {
  return { ...chargeHeaders(callId, chargeNano), ...remainingHeaders(remaining) };
}

/** The headers that stay true in every repeat of a response. */
export function chargeHeaders(callId: string, chargeNano: bigint | null): CallHeaders {
  return {
    'x-faregate-call-id': callId,
    ...(chargeNano === null ? {} : { 'x-faregate-charge-yuan': formatYuan(chargeNano) }),
  };
}

/** When a limit that refuses a call has room again (ISO 8601). */
export function resetHeaders(resetAtMs: number): CallHeaders {
  return { 'x-faregate-reset-at': new Date(resetAtMs).toISOString() };
}

/** What is left of limits by the minute, in the headers of the protocol that was called. */
export function rateHeaders(
  status: RateStatus,
  nowMs: number,
  { policy, settings }: { readonly policy: EndpointPolicy; readonly settings: Settings },
): Readonly<Record<string, string>> {
  const { protocol } = policy.operation;
  return protocol.rateHeaders(status, nowMs, settings.config.server.protocolNames[protocol.name]);
}

/** Whether a provider says in the headers of its response what is left of its own limits. */
export function hasRateHeaders(headers: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(headers).some((name) => name.includes('ratelimit-'));
}

function remainingHeaders(remaining: Remaining): CallHeaders {
  if (remaining === null) return {};
  return 'calls' in remaining
    ? { 'x-faregate-calls-left': String(remaining.calls) }
    : { 'x-faregate-available-yuan': formatYuan(remaining.availableNano) };
}
