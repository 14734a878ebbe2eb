import type { IncomingMessage } from 'node:http';
import { invalidRequest } from '../errors/gateway-error.ts';

/**
 * What is a key, wherever one is given. Without spaces, so that two headers, which arrive joined by a comma and a space, are
 * none.
 */
export const IDEMPOTENCY_KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/**
 * The Idempotency-Key of a request; `null` if it has none.
 *
 * @throws GatewayError `invalidRequest` where it cannot be used.
 */
export function readIdempotencyKey(request: Pick<IncomingMessage, 'headers'>): string | null {
  const value = request.headers['idempotency-key'];
  if (value === undefined) return null;
  if (typeof value === 'string' && IDEMPOTENCY_KEY_PATTERN.test(value)) return value;
  throw invalidRequest('The Idempotency-Key header takes 1 to 255 visible ASCII characters.', 'Idempotency-Key');
}
