import type { IncomingHttpHeaders } from 'node:http';
import type { Remaining, ShownBudget } from '../../accounting/reservations/reservation.ts';
import { formatYuan } from '../../lib/yuan.ts';
import type { RateStatus } from '../../protocols/rate-status.ts';
import { safeResponseHeaders } from '../../providers/upstream/headers.ts';
import type { EndpointPolicy } from '../call-request.ts';
import type { RewrittenInput } from '../rewritten-input.ts';
import type { Settings } from '../settings.ts';
import type { TranslatedInput } from '../translated-input.ts';

/** CORS exposes these headers to web pages. */
export const CALL_HEADER_NAMES = [
  'x-faregate-added',
  'x-faregate-available-yuan',
  'x-faregate-budgets',
  'x-faregate-call-id',
  'x-faregate-calls-left',
  'x-faregate-changed',
  'x-faregate-charge-yuan',
  'x-faregate-left-out',
  'x-faregate-model',
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

/** Names the model that served the call. Sent only for models with fallbacks; other calls are served by the model that they name. */
export function modelHeader({ id }: { readonly id: string }): CallHeaders {
  return { 'x-faregate-model': id.replace(UNFIT_IN_HEADER, '?') };
}

/** Headers that depend on the route that serves the call. */
const SERVED: ReadonlySet<string> = new Set<(typeof CALL_HEADER_NAMES)[number]>([
  'x-faregate-added',
  'x-faregate-changed',
  'x-faregate-left-out',
  'x-faregate-model',
  'x-faregate-translated',
]);

/** The headers that are known before a route serves the call. */
export function withoutServed(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !SERVED.has(name)));
}

const UNFIT_IN_HEADER = /[^\x20-\x7e]/g;

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

/**
 * Headers of a call whose body the provider does not get as the client wrote it: the protocol of the provider if it was translated, and the
 * names of members that were left out, added, and got another value.
 */
export function bodyHeaders({
  translation,
  rewriting,
}: {
  readonly translation: Pick<TranslatedInput, 'answer' | keyof Changes> | null;
  readonly rewriting: Changes | null;
}): CallHeaders {
  const { leftOut, added, changed } = translation ?? rewriting ?? NO_CHANGES;
  return {
    ...(translation !== null && { 'x-faregate-translated': translation.answer.provider }),
    ...(leftOut.length > 0 && { 'x-faregate-left-out': listed(leftOut) }),
    ...(added.length > 0 && { 'x-faregate-added': listed(added) }),
    ...(changed.length > 0 && { 'x-faregate-changed': listed(changed) }),
  };
}

const NO_CHANGES: Changes = { leftOut: [], added: [], changed: [] };

type Changes = Pick<RewrittenInput, 'leftOut' | 'added' | 'changed'>;

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
