import { GatewayError } from '../../errors/gateway-error.ts';
import { isRecord, parseJson } from '../../lib/json/json.ts';
import { eventFields, holdsData } from '../../lib/sse/event-fields.ts';
import { eachEvent } from '../../lib/sse/sse.ts';
import type { UpstreamHead } from './exchange.ts';
import type { ProviderAnswer, UpstreamFailure } from './failure.ts';
import { answerInSuccess, providerRefusal, readErrorBody, refusalFailure } from './refusal.ts';
import { isAboutOperator } from './refusal-reason.ts';

/** Finds refusals with status 200: some providers report overload, rate limits or rejected signatures in a stream's first event. */

const OPENINGS: readonly unknown[] = [
  'ping',
  'message_start',
  'response.created',
  'response.queued',
  'response.in_progress',
];

export function isOpening(events: Buffer): boolean {
  for (const event of eachEvent(events)) {
    if (!holdsData(event)) continue;
    const { name, data } = eventFields(event);
    if (OPENINGS.includes(name)) continue;
    const body = name === null && data !== null ? parseJson(data.toString('utf8')) : null;
    if (!isRecord(body) || !OPENINGS.includes(body.type)) return false;
  }
  return true;
}

const OVERLOADED = /overload|slow_down|service_unavailable|capacity/i;
const RATE = /rate_?limit|too_many_requests|throttl/i;

/** Whether a failure is a refusal after which the call is tried elsewhere. */
export type IsRefusal = (failure: UpstreamFailure) => boolean;

/**
 * Returns the refusal that an error event stands for; `null` for other errors, after which the provider may have run the call.
 * @param isRefusal whether an error whose status is not certain, which counts as 400 or 500, is a refusal
 */
export function streamRefusal(
  event: Buffer,
  head: UpstreamHead,
  secrets: readonly string[],
  requestId: string,
  isRefusal: IsRefusal = isOfSignature,
): UpstreamFailure | null {
  const error = errorOf(event);
  if (error === null) return null;
  const body = Buffer.from(JSON.stringify({ error }));
  const withStatus = (status: number) => refusalFailure({ ...head, status }, body, secrets, requestId);
  const status = statusOf(error);
  if (status !== null) return withStatus(status);
  const possible = [400, ...(isFault(error) ? [500] : [])].map(withStatus);
  return possible.find(isRefusal) ?? null;
}

/** Returns what an error event says. */
export function answerInEvent(event: Buffer, { status }: UpstreamHead, secrets: readonly string[]): ProviderAnswer {
  const error = errorOf(event);
  if (error === null) return { status, words: null, isPrivate: false };
  return answerInSuccess(status, Buffer.from(JSON.stringify({ error })), secrets);
}

/**
 * Returns the error of an event for a client that reads another protocol: the words and code of the provider, without secrets, and the
 * status that they state; 502 if they state none.
 */
export function errorInEvent(event: Buffer, secrets: readonly string[]): GatewayError {
  const error = errorOf(event);
  if (error === null) return new GatewayError('streamBroken');
  const read = readErrorBody(Buffer.from(JSON.stringify({ error })), secrets);
  const { message, code } = read;
  if (isAboutOperator(providerRefusal(400, {}, read, ''))) return new GatewayError('streamBroken');
  const status = statusOf(error) ?? statedStatus(error);
  return new GatewayError('streamBroken', {
    ...(message !== undefined && { message }),
    ...(code !== undefined && { code }),
    ...(status !== null && { status }),
  });
}

const OF_REQUEST = /^(?:invalid_request_error|invalid_prompt|context_length_exceeded|BadRequestError)$/;

function statedStatus({ type, code, status }: Readonly<Record<string, unknown>>): number | null {
  for (const value of [code, status]) if (typeof value === 'number' && value >= 400 && value <= 599) return value;
  if (type === 'request_too_large') return 413;
  return [type, code].some((word) => typeof word === 'string' && OF_REQUEST.test(word)) ? 400 : null;
}

function errorOf(event: Buffer): Readonly<Record<string, unknown>> | null {
  const { data } = eventFields(event);
  const body = data === null ? null : parseJson(data.toString('utf8'));
  if (!isRecord(body)) return null;
  if (isRecord(body.error)) return body.error;
  return isRecord(body.response) && isRecord(body.response.error) ? body.response.error : body;
}

const isOfSignature: IsRefusal = ({ refusal }) => refusal?.reason === 'signature';

const FAULT = /^(?:api_error|server_error|internal_(?:server_)?error)$/i;

function isFault({ type, code }: Readonly<Record<string, unknown>>): boolean {
  return [type, code].some((word) => typeof word === 'string' && FAULT.test(word));
}

function statusOf({ type, code, status }: Readonly<Record<string, unknown>>): number | null {
  for (const value of [code, status]) if (value === 429 || value === 503 || value === 529) return value;
  const words = [type, code].filter((word) => typeof word === 'string');
  if (words.some((word) => RATE.test(word))) return 429;
  return words.some((word) => OVERLOADED.test(word)) ? 529 : null;
}
