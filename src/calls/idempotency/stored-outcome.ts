import type { StoredFailure, StoredResponse } from '../../accounting/repeats/stored-response.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { WholeResponse } from '../relay/attempt.ts';
import type { CallHeaders } from '../relay/call-headers.ts';

/** The outcome of a call as its stored response. */

export function storedSuccess({ status, headers, body, hasNoRoom }: WholeResponse): StoredResponse {
  return { head: { status, headers, callHeaders: {}, ...(hasNoRoom && { hasNoRoom }) }, body };
}

export function storedFailure(response: GatewayError, requestId: string): StoredResponse {
  const { kind, status, code, message, param, type, retry, headers } = response;
  // The message may be a provider's, and PostgreSQL stores no unpaired surrogates.
  const words = { message: message.toWellFormed(), param: param?.toWellFormed() ?? null };
  const error = { kind, status, code, ...words, type: type ?? null, retry, headers, requestId };
  return { head: { error, callHeaders: {} }, body: null };
}

export function withCallHeaders({ head, body }: StoredResponse, callHeaders: CallHeaders): StoredResponse {
  return { head: { ...head, callHeaders }, body };
}

/** The failure as the first call returned it. */
export function restoreFailure({ error }: StoredFailure): GatewayError {
  const { kind, param, type, ...rest } = error;
  return new GatewayError(kind, {
    ...rest,
    ...(param === null ? {} : { param }),
    ...(type === null ? {} : { type }),
  });
}
