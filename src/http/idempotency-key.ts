import type { IncomingMessage } from 'node:http';
import { invalidRequest } from '../errors/gateway-error.ts';

/** Spaces are invalid. So a repeated header is refused, because Node joins the two with a comma and a space. */
export const IDEMPOTENCY_KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

/** Returns the Idempotency-Key; `null` if it is missing or invalid. */
export function usableIdempotencyKey({ headers }: Pick<IncomingMessage, 'headers'>): string | null {
  const value = headers['idempotency-key'];
  return typeof value === 'string' && IDEMPOTENCY_KEY_PATTERN.test(value) ? value : null;
}

/** Returns the Idempotency-Key; `null` if it is missing. @throws GatewayError `invalidRequest` if it is invalid */
export function readIdempotencyKey(request: Pick<IncomingMessage, 'headers'>): string | null {
  const key = usableIdempotencyKey(request);
  if (key !== null || request.headers['idempotency-key'] === undefined) return key;
  throw invalidRequest(
    'The Idempotency-Key header must consist of 1 to 255 visible ASCII characters.',
    'Idempotency-Key',
  );
}
