import type { StoredFailure, StoredResponse } from '../../accounting/settlement/stored-response.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { WholeAnswer } from '../relay/attempt.ts';
import type { CallHeaders } from '../relay/call-headers.ts';

/** What a call came to, in the form in which it is kept for its repeats. */

export function storedSuccess({ status, headers, body }: WholeAnswer): StoredResponse {
  return { head: { status, headers, callHeaders: {} }, body };
}

export function storedFailure(answer: GatewayError, requestId: string): StoredResponse {
  const { kind, status, code, message, param, type, retry, headers } = answer;
  // The words may be a provider's, and half a pair of surrogates is what no database stores.
  const words = { message: message.toWellFormed(), param: param?.toWellFormed() ?? null };
  const error = { kind, status, code, ...words, type: type ?? null, retry, headers, requestId };
  return { head: { error, callHeaders: {} }, body: null };
}

export function withCallHeaders({ head, body }: StoredResponse, callHeaders: CallHeaders): StoredResponse {
  return { head: { ...head, callHeaders }, body };
}

/** The failure as it was told the first time. */
export function restoreFailure({ error }: StoredFailure): GatewayError {
  const { kind, param, type, ...rest } = error;
  return new GatewayError(kind, {
    ...rest,
    ...(param === null ? {} : { param }),
    ...(type === null ? {} : { type }),
  });
}
