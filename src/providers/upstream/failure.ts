import { GatewayError } from '../../errors/gateway-error.ts';
import { errors } from '../../lib/http-client.ts';

/**
 * What is known about a failed call. Failover and settlement depend on this and on the reason of a refusal, never on a status or message:
 * - `notSent`: the provider did not receive or process the call
 * - `refused`: the provider answered that it did not run the call
 * - `unknown`: the provider received bytes, and the outcome is unknown
 */
type CallCertainty = 'notSent' | 'refused' | 'unknown';

/**
 * Why a provider refused a call:
 * - `operator`: it rejects the operator's credential, or the operator's account cannot pay
 * - `permission`: the credential or account may not make this call, or cannot pay for it; some providers also refuse prompts in this way
 * - `model`: it does not serve this model, or not at this endpoint
 * - `signature`: it rejects a signature or encrypted content that another provider or account issued
 * - `rate`: a rate limit was exceeded
 * - `capacity`: it is overloaded
 * - `lost`: a proxy in front of it lost the call, which may have run
 * - `fault`: it failed
 * - `call`: the call itself is invalid
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

/** What a provider said about a failure. */
export interface ProviderAnswer {
  /** Status of its response: 200 if the error was in a stream or a body with this status. */
  readonly status: number;
  /** Its words, without secrets, on one line; `null`: none that can be read. */
  readonly words: string | null;
  /** Whether clients must not see the words: they are about the operator's account, or name a model or server of the provider. */
  readonly isPrivate: boolean;
}

interface FailureFacts {
  readonly answer?: ProviderAnswer;
  readonly blamesRoute?: boolean;
  readonly hadSuccess?: boolean;
  readonly refusal?: Refusal;
}

export class UpstreamFailure extends Error {
  readonly certainty: CallCertainty;
  readonly response: GatewayError;
  /** Whether the failure counts against the route. False if the gateway itself did not send the call. */
  readonly blamesRoute: boolean;
  readonly hadSuccess: boolean;
  readonly refusal: Refusal | null;
  /** `null`: the provider answered nothing, or nothing about the failure. */
  readonly answer: ProviderAnswer | null;

  constructor(
    certainty: CallCertainty,
    response: GatewayError,
    cause?: unknown,
    { blamesRoute = true, hadSuccess = false, refusal, answer }: FailureFacts = {},
  ) {
    super(`upstream failure (${certainty}): ${response.message}`, cause === undefined ? undefined : { cause });
    this.name = 'UpstreamFailure';
    this.certainty = certainty;
    this.response = response;
    this.blamesRoute = blamesRoute;
    this.hadSuccess = hadSuccess;
    this.refusal = refusal ?? null;
    this.answer = answer ?? null;
  }
}

/** `wasSent`: the gateway had begun to write the request. `wasResponded`: the response headers had arrived. */
export function connectionFailure(error: Error, wasSent: boolean, wasResponded = false): UpstreamFailure {
  // Errors of undici's parser contain bytes of the response, which must not be logged.
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

/** The cause of a timeout before the first byte that is shorter than the provider's own, because another attempt follows. */
export class SilenceError extends errors.HeadersTimeoutError {
  /** `instanceof` finds every error with the code of the parent. */
  readonly isSilence = true;
}

export const isSilence = (cause: unknown): boolean => cause instanceof Error && 'isSilence' in cause;

const TIMEOUT_CODES = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);

const REFUSED_STREAM = 7;
const GOAWAY = /^HTTP\/2: "GOAWAY" frame received/;

/**
 * Whether an HTTP/2 provider certainly did not process the call (RFC 9113, section 8.7): it refused the stream, or it sent a GOAWAY whose
 * last stream is an earlier one. undici reports exactly these calls with its GOAWAY error, which has no code.
 */
function isRefusedStream(error: Error): boolean {
  return (error as { http2ErrorCode?: unknown }).http2ErrorCode === REFUSED_STREAM || GOAWAY.test(error.message);
}

/** No connection became available within the maximum waiting time, or the queue was full. */
export function allConnectionsInUse(): UpstreamFailure {
  const response = new GatewayError('upstreamNotReached', {
    message:
      'All connections to the provider are in use. Nothing was sent to it and nothing is charged. Try again shortly.',
    headers: { 'retry-after': '1' },
  });
  return new UpstreamFailure('notSent', response, undefined, { blamesRoute: false });
}

/** The provider has no credential, because the commands that print them failed. */
export function noCredential(cause?: unknown): UpstreamFailure {
  const message = 'The gateway has no credential for the provider. Nothing was sent to it and nothing is charged.';
  return new UpstreamFailure('notSent', new GatewayError('upstreamNotReached', { message, cause }), cause);
}

/** Every credential of the provider has reached a limit that the operator has set. */
export function credentialsUsedUp(): UpstreamFailure {
  const message =
    'Every credential of the provider has reached a limit of the operator. Nothing was sent to it and nothing is charged.';
  return new UpstreamFailure('notSent', new GatewayError('upstreamNotReached', { message }), undefined, {
    blamesRoute: false,
  });
}

/** The provider sent a success that cannot be relayed or charged. */
export function unusableSuccess(requestId: string, message?: string, answer?: ProviderAnswer): UpstreamFailure {
  const response = new GatewayError('upstreamInvalid', message === undefined ? { requestId } : { requestId, message });
  return new UpstreamFailure('unknown', response, undefined, { hadSuccess: true, ...(answer && { answer }) });
}

export function successBrokenOff({ certainty, response, cause, blamesRoute }: UpstreamFailure): UpstreamFailure {
  return new UpstreamFailure(certainty, response, cause, { blamesRoute, hadSuccess: true });
}

/** The call was aborted while it waited for a connection. */
export function givenUpUnsent(): UpstreamFailure {
  return new UpstreamFailure('notSent', new GatewayError('upstreamNotReached'), undefined, { blamesRoute: false });
}
