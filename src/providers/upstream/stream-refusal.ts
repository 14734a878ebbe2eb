import { isRecord, parseJson } from '../../lib/json/json.ts';
import { eventFields, holdsData } from '../../lib/sse/event-fields.ts';
import { eachEvent } from '../../lib/sse/sse.ts';
import type { UpstreamHead } from './exchange.ts';
import type { ProviderAnswer, UpstreamFailure } from './failure.ts';
import { answerInSuccess, refusalFailure } from './refusal.ts';

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

/** Returns the refusal that an error event stands for; `null` for other errors, after which the provider may have run the call. */
export function streamRefusal(
  event: Buffer,
  head: UpstreamHead,
  secrets: readonly string[],
  requestId: string,
): UpstreamFailure | null {
  const error = errorOf(event);
  if (error === null) return null;
  const status = statusOf(error);
  const failure = refusalFailure(
    { ...head, status: status ?? 400 },
    Buffer.from(JSON.stringify({ error })),
    secrets,
    requestId,
  );
  return status === null && failure.refusal?.reason !== 'signature' ? null : failure;
}

/** Returns what an error event says. */
export function answerInEvent(event: Buffer, { status }: UpstreamHead, secrets: readonly string[]): ProviderAnswer {
  const error = errorOf(event);
  if (error === null) return { status, words: null, isPrivate: false };
  return answerInSuccess(status, Buffer.from(JSON.stringify({ error })), secrets);
}

function errorOf(event: Buffer): Readonly<Record<string, unknown>> | null {
  const { data } = eventFields(event);
  const body = data === null ? null : parseJson(data.toString('utf8'));
  if (!isRecord(body)) return null;
  if (isRecord(body.error)) return body.error;
  return isRecord(body.response) && isRecord(body.response.error) ? body.response.error : body;
}

function statusOf({ type, code, status }: Readonly<Record<string, unknown>>): number | null {
  for (const value of [code, status]) if (value === 429 || value === 503 || value === 529) return value;
  const words = [type, code].filter((word) => typeof word === 'string');
  if (words.some((word) => RATE.test(word))) return 429;
  return words.some((word) => OVERLOADED.test(word)) ? 529 : null;
}
