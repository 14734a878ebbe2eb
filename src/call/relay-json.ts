import { GatewayError } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import { parseJson } from '../lib/json.ts';
import { JsonSyntaxError, scanJson } from '../lib/json-scan.ts';
import type { TokenUsage } from '../metering/usage-facts.ts';
import { startExchange, type UpstreamHead } from '../upstream/exchange.ts';
import { UpstreamFailure } from '../upstream/failure.ts';
import { safeResponseHeaders, upstreamRequestId } from '../upstream/headers.ts';
import { ERROR_BODY_BYTES_MAX, providerRefusal } from '../upstream/refusal.ts';
import type { Attempt } from './attempt.ts';
import type { CallInput } from './operation.ts';

/** The largest whole answer that is kept while its usage facts are awaited. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Relays a whole answer: it is read to its end, measured, settled, and only then sent. A client that goes away meanwhile
 * is settled all the same (design 7).
 *
 * @throws UpstreamFailure where there is no success to bill.
 */
export async function relayJson(attempt: Attempt, clock: Clock): Promise<void> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  let head: UpstreamHead | null = null;
  let firstByteAtMs: number | null = null;
  let isTooLarge = false;

  const exchange = startExchange(attempt.request, (received) => {
    head = received;
    firstByteAtMs = clock.nowMs();
    const sizeBytesMax = received.status === 200 ? ANSWER_BYTES_MAX : ERROR_BODY_BYTES_MAX;
    return (chunk) => {
      sizeBytes += chunk.length;
      if (sizeBytes <= sizeBytesMax) {
        chunks.push(chunk);
      } else {
        isTooLarge = true;
        exchange.abort();
      }
    };
  });
  const failure = await exchange.done.then(
    () => null,
    (error: unknown) => error,
  );
  const answered = head as UpstreamHead | null;
  // A refusal stays one where the rest of its words does not arrive.
  if (failure !== null && (answered === null || answered.status === 200)) throw failure;

  const { status, headers } = answered!;
  const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  const requestId = upstreamRequestId(headers) ?? attempt.requestId;
  if (status !== 200) throw refusal(attempt, status, headers, body, requestId);
  const usage = isTooLarge || headers['content-encoding'] !== undefined ? null : readUsage(body, attempt.input);
  if (usage === null) {
    throw new UpstreamFailure('unknown', new GatewayError('upstreamInvalid', { requestId }));
  }

  await attempt.settle({
    status: 'succeeded',
    usage: { ...usage, source: 'observed' },
    httpStatus: status,
    error: null,
    requestId,
    firstByteAtMs,
  });
  if (attempt.client.isGone) return;
  attempt.client.begin(200, {
    ...safeResponseHeaders(headers),
    'content-type': jsonContentType(headers['content-type']),
    'content-length': body.length,
    'x-request-id': requestId,
    'request-id': requestId,
  });
  attempt.client.end(body);
}

/** A non-2xx answer is the provider's refusal; another 2xx or a redirect is nothing that can be relayed or billed. */
export function refusal(
  attempt: Attempt,
  status: number,
  headers: UpstreamHead['headers'],
  body: Buffer,
  requestId: string,
): UpstreamFailure {
  const answer =
    status >= 400
      ? providerRefusal(status, headers, body, attempt.request.provider.secrets, requestId)
      : new GatewayError('upstreamInvalid', { requestId });
  return new UpstreamFailure('refused', answer);
}

/** The facts of a whole answer, found without building the answer; `null` where it is not JSON or has none. */
function readUsage(body: Buffer, input: CallInput): TokenUsage | null {
  try {
    const outline = scanJson(body);
    const member = outline.members.findLast(({ key }) => key === 'usage');
    if (member === undefined) return null;
    return input.readUsage(parseJson(body.toString('utf8', member.valueStart, member.valueEnd)));
  } catch (error) {
    if (error instanceof JsonSyntaxError) return null;
    throw error;
  }
}

/** Clients parse by content type; a provider that answers JSON under another name would leave them with a string. */
function jsonContentType(contentType: string | undefined): string {
  return contentType !== undefined && /^application\/([\w.+-]+\+)?json\b/i.test(contentType)
    ? contentType
    : 'application/json';
}
