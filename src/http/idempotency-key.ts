import type { IncomingMessage } from 'node:http';
import { invalidRequest } from '../errors/gateway-error.ts';

/** The form of a valid key. Spaces are not allowed, so that two headers, which Node joins with a comma and a space, are invalid. */
export const IDEMPOTENCY_KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/** The Idempotency-Key of a request; `null` if it is missing or not valid. */
export function usableIdempotencyKey({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const value = headers['idempotency-key'];
  return typeof value === 'string' && IDEMPOTENCY_KEY_PATTERN.test(value) ? value : null;
}

/**
 * The Idempotency-Key of a request; `null` if it has none.
 *
 * @throws GatewayError `invalidRequest` if it is not valid.
 */
export function readIdempotencyKey(request: Pick<IncomingMessage, 'headers'>): string | null {
  const key = usableIdempotencyKey(request);
  if (key !== null || request.headers['idempotency-key'] === undefined) return key;
  throw invalidRequest(
    'The Idempotency-Key header must consist of 1 to 255 visible ASCII characters.',
    'Idempotency-Key',
  );
}
