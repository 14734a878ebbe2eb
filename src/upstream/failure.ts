import { GatewayError } from '../errors/gateway-error.ts';

/**
 * What is known of a call that did not succeed. Failover and settlement read this, never a status or a message:
 * - `notSent`: the provider surely did not see the call.
 * - `refused`: the provider answered that it did not carry the call out.
 * - `unknown`: bytes were sent, and what came of them nobody knows.
 */
export type CallCertainty = 'notSent' | 'refused' | 'unknown';

/** A provider's failure, translated once. */
export class UpstreamFailure extends Error {
  readonly certainty: CallCertainty;
  /** What the client is told. */
  readonly answer: GatewayError;

  constructor(certainty: CallCertainty, answer: GatewayError, cause?: unknown) {
    super(`upstream failure (${certainty}): ${answer.message}`, cause === undefined ? undefined : { cause });
    this.name = 'UpstreamFailure';
    this.certainty = certainty;
    this.answer = answer;
  }
}

/** Failures of the connection itself: whether the request had begun to be written decides what is known. */
export function connectionFailure(error: Error, wasSent: boolean): UpstreamFailure {
  if (!wasSent) {
    return new UpstreamFailure('notSent', new GatewayError('upstreamNotReached', { cause: error }), error);
  }
  const isTimeout = TIMEOUT_CODES.has((error as NodeJS.ErrnoException).code ?? '');
  const kind = isTimeout ? 'upstreamTimeout' : 'upstreamError';
  return new UpstreamFailure('unknown', new GatewayError(kind, { cause: error }), error);
}

const TIMEOUT_CODES = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);
