import type { IncomingHttpHeaders } from 'node:http';
import type { Remaining, ShownBudget } from '../../accounting/reservations/reservation.ts';
import { formatYuan } from '../../lib/yuan.ts';
import type { RateStatus } from '../../protocols/rate-status.ts';
import { safeResponseHeaders } from '../../providers/upstream/headers.ts';
import type { EndpointPolicy } from '../call-request.ts';
import type { Settings } from '../settings.ts';
import type { TranslatedInput } from '../translated-input.ts';

/** CORS exposes these headers to web pages. */
export const CALL_HEADER_NAMES = [
  'x-faregate-added',
  'x-faregate-available-yuan',
  'x-faregate-budgets',
  'x-faregate-call-id',
  'x-faregate-calls-left',
  'x-faregate-charge-yuan',
  'x-faregate-left-out',
  'x-faregate-repeated',
  'x-faregate-reset-at',
  'x-faregate-translated',
] as const;

export const REPEATED_HEADER = { 'x-faregate-repeated': 'true' } as const;

type CallHeaders = Readonly<Partial<Record<(typeof CALL_HEADER_NAMES)[number], string>>>;

/** Headers with the call's id, charge and remaining funds, in yuan. `chargeNano` is `null` if the charge is unknown, and on plans. */
export function callHeaders(callId: string, chargeNano: bigint | null, remaining: Remaining): CallHeaders {
  const headers: Writable<CallHeaders> = chargeHeaders(callId, chargeNano);
  if (remaining === null) return headers;
  if ('calls' in remaining) headers['x-faregate-calls-left'] = String(remaining.calls);
  else headers['x-faregate-available-yuan'] = formatYuan(remaining.availableNano);
  return headers;
}

type Writable<Headers> = { -readonly [Name in keyof Headers]: Headers[Name] };

/** Headers that are also valid when the same response is sent again. */
export function chargeHeaders(callId: string, chargeNano: bigint | null): CallHeaders {
  if (chargeNano === null) return { 'x-faregate-call-id': callId };
  return { 'x-faregate-call-id': callId, 'x-faregate-charge-yuan': formatYuan(chargeNano) };
}

/** Builds a header such as `day=0.31/5, member-model-month=12.4/100`: spent amount and cap in yuan. The amount includes this call's charge. */
export function budgetHeaders(budgets: readonly ShownBudget[], chargeNano: bigint): CallHeaders {
  if (budgets.length === 0) return {};
  const shown = budgets.map(({ isOfMember, isOfModel, period, spentNano, capNano }) => {
    const name = `${isOfMember ? 'member-' : ''}${isOfModel ? 'model-' : ''}${period}`;
    return `${name}=${formatYuan(spentNano + chargeNano)}/${formatYuan(capNano)}`;
  });
  return { 'x-faregate-budgets': shown.join(', ') };
}

/** Maximum length of a list in a header. */
const LIST_LENGTH_MAX = 1_024;

/** Headers of a translated call: the protocol of the provider, and the names of members that were left out and added. */
export function translationHeaders({
  answer,
  leftOut,
  added,
}: Pick<TranslatedInput, 'answer' | 'leftOut' | 'added'>): CallHeaders {
  return {
    'x-faregate-translated': answer.provider,
    ...(leftOut.length > 0 && { 'x-faregate-left-out': listed(leftOut) }),
    ...(added.length > 0 && { 'x-faregate-added': listed(added) }),
  };
}

/** Names are chosen by the client, so characters that a header cannot have, and commas, are replaced. */
function listed(names: readonly string[]): string {
  const whole = names.map((name) => name.replace(UNFIT, '?')).join(',');
  return whole.length <= LIST_LENGTH_MAX ? whole : `${whole.slice(0, LIST_LENGTH_MAX - 3)}...`;
}

const UNFIT = /[^\x21-\x2b\x2d-\x7e]/g;

export function resetHeaders(resetAtMs: number): CallHeaders {
  return { 'x-faregate-reset-at': new Date(resetAtMs).toISOString() };
}

export function rateHeaders(
  status: RateStatus,
  nowMs: number,
  { policy, settings }: { readonly policy: EndpointPolicy; readonly settings: Settings },
): Readonly<Record<string, string>> {
  const { protocol } = policy.operation;
  return protocol.rateHeaders(status, nowMs, settings.config.server.protocolNames[protocol.name]);
}

export function relayedHeaders(
  upstream: IncomingHttpHeaders,
  contentType: string,
  requestId: string,
): Record<string, string> {
  const headers = safeResponseHeaders(upstream);
  headers['content-type'] = contentType;
  headers['x-request-id'] = requestId;
  headers['request-id'] = requestId;
  return headers;
}
