import { GatewayError } from '../../errors/gateway-error.ts';
import type { KeptAnswer, KeptFailure } from '../../accounting/settlement/stored-response.ts';
import type { WholeAnswer } from '../relay/attempt.ts';
import type { CallHeaders } from '../relay/call-headers.ts';

/** What a call came to, in the form in which it is kept for its repeats. */

export function keptSuccess({ status, headers, body }: WholeAnswer): KeptAnswer {
  return { head: { status, headers, callHeaders: {} }, body };
}

export function keptFailure(answer: GatewayError, requestId: string): KeptAnswer {
  const { kind, status, code, message, param, type, retry, headers } = answer;
  // The words may be a provider's, and half a pair of surrogates is what no database stores.
  const words = { message: message.toWellFormed(), param: param?.toWellFormed() ?? null };
  const error = { kind, status, code, ...words, type: type ?? null, retry, headers, requestId };
  return { head: { error, callHeaders: {} }, body: null };
}

export function withCallHeaders({ head, body }: KeptAnswer, callHeaders: CallHeaders): KeptAnswer {
  return { head: { ...head, callHeaders }, body };
}

/** The failure as it was told the first time. */
export function restoreFailure({ error }: KeptFailure): GatewayError {
  const { kind, param, type, ...rest } = error;
  return new GatewayError(kind, {
    ...rest,
    ...(param === null ? {} : { param }),
    ...(type === null ? {} : { type }),
  });
}
