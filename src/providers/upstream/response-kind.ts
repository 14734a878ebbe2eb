import { GatewayError } from '../../errors/gateway-error.ts';
import type { UpstreamHead } from './exchange.ts';
import { UpstreamFailure, unusableSuccess } from './failure.ts';
import { isEncoded } from './headers.ts';
import { providerRefusal } from './refusal.ts';
import { isAboutOperator, refusalReason } from './refusal-reason.ts';

/**
 * The kind of a response, by its head: a stream of events, a whole response, a refusal, or a success that cannot be
 * read because it is encoded in a way that was not asked for.
 */
type ResponseKind = 'stream' | 'whole' | 'refusal' | 'unusable';

export function responseKind({ status, headers }: UpstreamHead): ResponseKind {
  if (status !== 200) return 'refusal';
  if (isEncoded(headers)) return 'unusable';
  return /^text\/event-stream\b/i.test(headers['content-type'] ?? '') ? 'stream' : 'whole';
}

/**
 * The failure of a response with another status than 200. 4xx and 5xx are the provider's refusal; another 2xx or a
 * redirect can neither be relayed nor charged. Where the provider refuses the operator, the caller is not to blame: the
 * client gets a 502 without the provider's words (contract, section 7).
 */
export function refusalFailure(
  { status, headers }: UpstreamHead,
  body: Buffer,
  secrets: readonly string[],
  requestId: string,
): UpstreamFailure {
  if (status >= 200 && status <= 299) return unusableSuccess(requestId);
  // Other statuses cannot be sent to a client, and say nothing about the call.
  if (status < 400 || status > 599) {
    return new UpstreamFailure('unknown', new GatewayError('upstreamInvalid', { requestId }));
  }
  const refused = providerRefusal(status, headers, body, secrets, requestId);
  const refusal = { reason: refusalReason(refused), status };
  if (refusal.reason === 'model') {
    // The words of the provider have its own name of the model: they are for the log.
    const { headers: safe } = refused;
    const response = new GatewayError('modelNotServed', { param: 'model', headers: safe, requestId, cause: refused });
    return new UpstreamFailure('refused', response, refused, { refusal });
  }
  if (!isAboutOperator(refused)) return new UpstreamFailure('refused', refused, undefined, { refusal });
  // The words of the provider are about the operator's account: they are for the log.
  const response = new GatewayError('upstreamAccountRefused', { headers: refused.headers, requestId, cause: refused });
  return new UpstreamFailure('refused', response, refused, { refusal });
}
