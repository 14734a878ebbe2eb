import type { Remaining } from '../../accounting/reservations/reservation.ts';
import { formatYuan } from '../../lib/yuan.ts';

/** What the gateway says of a call in headers of its own. */
export interface CallStanding {
  readonly callId: string;
  /** What was charged; `null` where that is not known yet, and on Coding Plans, which charge nothing. */
  readonly chargeNano: bigint | null;
  readonly remaining: Remaining;
}

/** Names of the headers, for pages that may read them. */
export const CALL_HEADER_NAMES = [
  'x-faregate-available-yuan',
  'x-faregate-call-id',
  'x-faregate-calls-left',
  'x-faregate-charge-yuan',
  'x-faregate-repeated',
] as const;

/** Says that an answer is that of an earlier call with the same Idempotency-Key. */
export const REPEATED_HEADER = { 'x-faregate-repeated': 'true' } as const;

export type CallHeaders = Readonly<Partial<Record<(typeof CALL_HEADER_NAMES)[number], string>>>;

/** Amounts are in yuan, as decimals (`docs/calls.md`). */
export function callHeaders({ callId, chargeNano, remaining }: CallStanding): CallHeaders {
  return { ...chargeHeaders(callId, chargeNano), ...remainingHeaders(remaining) };
}

/** The part that stays true however often the answer is given. */
export function chargeHeaders(callId: string, chargeNano: bigint | null): CallHeaders {
  return {
    'x-faregate-call-id': callId,
    ...(chargeNano === null ? {} : { 'x-faregate-charge-yuan': formatYuan(chargeNano) }),
  };
}

function remainingHeaders(remaining: Remaining): CallHeaders {
  if (remaining === null) return {};
  return 'calls' in remaining
    ? { 'x-faregate-calls-left': String(remaining.calls) }
    : { 'x-faregate-available-yuan': formatYuan(remaining.availableNano) };
}
