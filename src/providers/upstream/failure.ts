import { GatewayError } from '../../errors/gateway-error.ts';

/**
 * What is known of a call that did not succeed. Failover and settlement read this and the reason of a refusal, never a
 * status or a message:
 * - `notSent`: the provider certainly did not see the call, or did nothing with it.
 * - `refused`: the provider responded that it did not run the call.
 * - `unknown`: bytes were sent, and the outcome is not known.
 */
type CallCertainty = 'notSent' | 'refused' | 'unknown';

/**
 * Why a provider refused a call:
 * - `operator`: it does not accept the operator's credential, or its account there cannot pay. No caller can mend that, and hardly
 *   any can cause it.
 * - `permission`: the credential or the account may not do this, or cannot pay for this; also how some providers refuse what a
 *   prompt says.
 * - `model`: it does not serve this model: retired, or not at this address.
 * - `signature`: it does not accept a signature or encrypted content of the conversation, which another provider or account made.
 * - `rate`: too many calls.
 * - `capacity`: the provider is overloaded.
 * - `lost`: a gateway of the provider lost the call, which may have run.
 * - `fault`: the provider failed.
 * - `call`: the call itself cannot be carried out.
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

/** What is known of a provider's refusal. */
interface Refusal {
  readonly reason: RefusalReason;
  /** The provider's own status. */
  readonly status: number;
}

interface FailureFacts {
  readonly blamesRoute?: boolean;
  readonly hadSuccess?: boolean;
  readonly refusal?: Refusal;
}

/** A provider's failure, translated once. */
export class UpstreamFailure extends Error {
  readonly certainty: CallCertainty;
  /** The error that the client gets. */
  readonly response: GatewayError;
  /** Whether the failure counts against the route. It does not where the gateway itself did not send the call. */
  readonly blamesRoute: boolean;
  /** Whether the provider responded with a success that cannot be used. */
  readonly hadSuccess: boolean;
  /** `null` if the provider did not refuse the call. */
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

/**
 * Failures of the connection itself: the certainty depends on whether the request had begun to be written.
 * `wasAnswered`: the head of a response had come by then.
 */
export function connectionFailure(error: Error, wasSent: boolean, wasResponded = false): UpstreamFailure {
  // The error of undici's parser has the bytes that it could not read, a part of the response, which may be in no log.
  if ('data' in error) delete error.data;
  if (!wasSent) {
    return new UpstreamFailure('notSent', new GatewayError('upstreamNotReached', { cause: error }), error);
  }
  if (!wasResponded && isRefusedStream(error)) {
    const message = 'The provider turned the call away before it did anything with it. Nothing is charged.';
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
 * HTTP/2 has two ways to say that a call was certainly not processed (RFC 9113, section 8.7): its stream is refused, or
 * the connection goes away and names an earlier stream as the last one. undici fails only those calls with the error of
 * GOAWAY, and has no code for it; if its text changes, the outcome counts as unknown again.
 */
function isRefusedStream(error: Error): boolean {
  return (error as { http2ErrorCode?: unknown }).http2ErrorCode === REFUSED_STREAM || GOAWAY.test(error.message);
}

/**
 * All connections that the account may have were in use for the time that the call may wait, or too many wait already.
 * The route is not to blame.
 */
export function allConnectionsInUse(): UpstreamFailure {
  const response = new GatewayError('upstreamNotReached', {
    message:
      'All connections to the provider are in use. Nothing was sent to it and nothing is charged. Try again shortly.',
    headers: { 'retry-after': '1' },
  });
  return new UpstreamFailure('notSent', response, undefined, { blamesRoute: false });
}

/** The provider responded with a success that cannot be relayed or charged. */
export function unusableSuccess(requestId: string, message?: string): UpstreamFailure {
  const response = new GatewayError('upstreamInvalid', message === undefined ? { requestId } : { requestId, message });
  return new UpstreamFailure('unknown', response, undefined, { hadSuccess: true });
}

/** A success broke off after it had begun to arrive. */
export function successBrokenOff({ certainty, response, cause, blamesRoute }: UpstreamFailure): UpstreamFailure {
  return new UpstreamFailure(certainty, response, cause, { blamesRoute, hadSuccess: true });
}

/** The call was abandoned while it waited for a connection. */
export function givenUpUnsent(): UpstreamFailure {
  return new UpstreamFailure('notSent', new GatewayError('upstreamNotReached'), undefined, { blamesRoute: false });
}
