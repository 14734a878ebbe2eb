import type { StoredResponse } from '../accounting/repeats/stored-response.ts';
import type { GatewayError } from '../errors/gateway-error.ts';

/** The failure of a call, for later requests with the same `Idempotency-Key`. */
export function storedFailure(failure: GatewayError, requestId: string): StoredResponse {
  const { kind, status, code, message, param, type, retry, headers } = failure;
  // The message can come from a provider, and PostgreSQL stores no unpaired surrogates.
  const words = { message: message.toWellFormed(), param: param?.toWellFormed() ?? null };
  const error = { kind, status, code, ...words, type: type ?? null, retry, headers, requestId };
  return { head: { error, callHeaders: {} }, body: null };
}
