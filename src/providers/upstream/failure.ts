import { GatewayError } from '../../errors/gateway-error.ts';

/**
 * What is known about a call that failed. Failover and settlement depend on this and on the reason of a refusal, never on a status or a message:
 * - `notSent`: the provider certainly did not receive or process the call.
 * - `refused`: the provider responded that it did not run the call.
 * - `unknown`: bytes were sent, and the outcome is unknown.
 */
type CallCertainty = 'notSent' | 'refused' | 'unknown';

/**
 * Why a provider refused a call:
 * - `operator`: the provider rejects the operator's credential, or the operator's account cannot pay. Callers cannot fix this, and can hardly cause
 *   it.
 * - `permission`: the credential or account is not permitted to make this call, or cannot pay for it. Some providers also refuse prompts in this way.
 * - `model`: the provider does not serve this model: it is retired, or not available at this endpoint.
 * - `signature`: the provider rejects a signature or encrypted content in the conversation that another provider or account issued.
 * - `rate`: a rate limit was exceeded.
 * - `capacity`: the provider is overloaded.
 * - `lost`: a proxy in front of the provider lost the call, which may have run.
 * - `fault`: the provider failed.
 * - `call`: the call itself is invalid.
 */
export type RefusalReason =
  | 'operator'
  | 'permission'
  | 'model'
  | 'signature'
  | 'rate'
  | 'capacity'
  | 'lost'
  | 'fault'
  | 'call';

interface Refusal {
  readonly reason: RefusalReason;
  readonly status: number;
}

interface FailureFacts {
  readonly blamesRoute?: boolean;
  readonly hadSuccess?: boolean;
  readonly refusal?: Refusal;
}

export class UpstreamFailure extends Error {
  readonly certainty: CallCertainty;
  /** The error that is sent to the client. */
  readonly response: GatewayError;
  /** Whether the failure counts against the route. It does not if the gateway itself decided not to send the call. */
  readonly blamesRoute: boolean;
  /** Whether the provider responded with a success that cannot be used. */
  readonly hadSuccess: boolean;
  readonly refusal: Refusal | null;

  constructor(
    certainty: CallCertainty,
    response: GatewayError,
    cause?: unknown,
    { blamesRoute = true, hadSuccess = false, refusal }: FailureFacts = {},
  ) {
    super(`upstream failure (${certainty}): ${response.message}`, cause === undefined ? undefined : { cause });
    this.name = 'UpstreamFailure';
    this.certainty = certainty;
    this.response = response;
    this.blamesRoute = blamesRoute;
    this.hadSuccess = hadSuccess;
    this.refusal = refusal ?? null;
  }
}

/** Converts an error of a connection. `wasSent`: the gateway had begun to write the request. `wasResponded`: the head of a response had arrived. */
export function connectionFailure(error: Error, wasSent: boolean, wasResponded = false): UpstreamFailure {
  // An error of undici's parser contains the bytes that it could not parse. They are part of the response, so they must not be logged.
  if ('data' in error) delete error.data;
  if (!wasSent) {
    return new UpstreamFailure('notSent', new GatewayError('upstreamNotReached', { cause: error }), error);
  }
  if (!wasResponded && isRefusedStream(error)) {
    const message = 'The provider rejected the call before processing it. Nothing is charged.';
    return new UpstreamFailure('notSent', new GatewayError('upstreamNotReached', { message, cause: error }), error);
  }
  const isTimeout = TIMEOUT_CODES.has((error as NodeJS.ErrnoException).code ?? '');
  const kind = isTimeout ? 'upstreamTimeout' : 'upstreamError';
  return new UpstreamFailure('unknown', new GatewayError(kind, { cause: error }), error);
}

const TIMEOUT_CODES = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);

const REFUSED_STREAM = 7;
const GOAWAY = /^HTTP\/2: "GOAWAY" frame received/;

/**
 * Whether an HTTP/2 provider certainly did not process the call. Two signals guarantee this (RFC 9113, section 8.7): the stream is refused, or a
 * GOAWAY names an earlier stream as the last one. undici fails exactly these calls with the GOAWAY error, which has no code; if its text changes, the
 * outcome is treated as unknown.
 */
function isRefusedStream(error: Error): boolean {
  return (error as { http2ErrorCode?: unknown }).http2ErrorCode === REFUSED_STREAM || GOAWAY.test(error.message);
}

/**
 * The failure of a call for which no connection became available within the maximum waiting time, or for which the queue was full. It does not count
 * against the route.
 */
export function allConnectionsInUse(): UpstreamFailure {
  const response = new GatewayError('upstreamNotReached', {
    message:
      'All connections to the provider are in use. Nothing was sent to it and nothing is charged. Try again shortly.',
    headers: { 'retry-after': '1' },
  });
  return new UpstreamFailure('notSent', response, undefined, { blamesRoute: false });
}

/** The failure of a call to which the provider responded with a success that cannot be relayed or charged. */
export function unusableSuccess(requestId: string, message?: string): UpstreamFailure {
  const response = new GatewayError('upstreamInvalid', message === undefined ? { requestId } : { requestId, message });
  return new UpstreamFailure('unknown', response, undefined, { hadSuccess: true });
}

export function successBrokenOff({ certainty, response, cause, blamesRoute }: UpstreamFailure): UpstreamFailure {
  return new UpstreamFailure(certainty, response, cause, { blamesRoute, hadSuccess: true });
}

/** The failure of a call that was aborted while it waited for a connection. */
export function givenUpUnsent(): UpstreamFailure {
  return new UpstreamFailure('notSent', new GatewayError('upstreamNotReached'), undefined, { blamesRoute: false });
}
