import { GatewayError } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { isRecord } from '../../lib/json/json.ts';
import type { Route } from '../../providers/catalog/catalog.ts';
import type { RoutePermit } from '../../providers/routing/health.ts';
import type { Credentials } from '../../providers/upstream/credentials.ts';
import { type RefusalReason, UpstreamFailure } from '../../providers/upstream/failure.ts';
import { requestedRestMs } from '../../providers/upstream/rest.ts';
import type { CallEnd } from '../call-end.ts';

/**
 * What happened at a provider, and what follows:
 *
 * | what happened | another route is tried | the breakers of the route |
 * |---|---|---|
 * | no connection: refused, DNS, TLS, proxy | yes | a failure of the connection |
 * | all connections in use, for as long as a call may wait | yes | nothing |
 * | a refusal, also as the first event of a stream | as `REFUSAL_RULES` says | as `REFUSAL_RULES` says |
 * | reset, or timeout, after the call was sent | no: the outcome is unknown | a failed response |
 * | a 200 that is no response of the protocol, or cannot be billed | no | nothing |
 * | the stream breaks off | no: a part is delivered | a failed response |
 * | the client leaves | no | nothing |
 * | a success | no | a success |
 *
 * A failure of the route counts against it for all accounts, as one of the connection does. The call itself may cause a failed
 * response: `providers/routing/blame.ts` decides whether it counts against the route or against the account.
 */

/** What follows from a provider's refusal, by its reason; `docs/routing.md` has it as a table. */
interface RefusalRule {
  /** Whether another route may serve the call: the provider certainly did not run it. */
  readonly isTriedElsewhere: boolean;
  /** What the breakers of the route count; `null`: a success, since the provider responds. */
  readonly failure: 'operator' | 'response' | null;
}

export const REFUSAL_RULES: Readonly<Record<RefusalReason, RefusalRule>> = {
  operator: { isTriedElsewhere: true, failure: 'operator' },
  permission: { isTriedElsewhere: true, failure: null },
  model: { isTriedElsewhere: true, failure: 'response' },
  signature: { isTriedElsewhere: true, failure: null },
  rate: { isTriedElsewhere: true, failure: null },
  capacity: { isTriedElsewhere: true, failure: 'response' },
  lost: { isTriedElsewhere: false, failure: 'response' },
  fault: { isTriedElsewhere: false, failure: 'response' },
  call: { isTriedElsewhere: false, failure: null },
};

/** Whether the provider certainly did not carry the call out and another route may serve it. */
export function mayTryAnother(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  if (error.certainty === 'notSent') return true;
  return error.refusal !== null && REFUSAL_RULES[error.refusal.reason].isTriedElsewhere;
}

export function isSignatureRefusal(error: unknown): boolean {
  return error instanceof UpstreamFailure && error.refusal?.reason === 'signature';
}

/**
 * Which of the failures of the routes that were tried, in their order, the client gets: the last one; `null`: no healthy route. A refusal of
 * a signature does not count while a route is down, over its limit or passed over (`isPassedOver`): that route may accept the
 * signature later, so the conversation has not ended.
 */
export function decisiveFailure(failures: readonly unknown[], isPassedOver: boolean): unknown {
  const last = failures.at(-1) ?? null;
  if (!isSignatureRefusal(last)) return last;
  return failures.findLast(isTemporary) ?? (isPassedOver ? null : last);
}

function isTemporary(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  return error.certainty === 'notSent' || error.refusal?.reason === 'rate' || error.refusal?.reason === 'capacity';
}

/** Whether the provider may have carried a failed call out: a repeat then gets the failure and does not run it again. */
export function mayHaveRun(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  return error.certainty === 'unknown' || error.refusal?.reason === 'lost';
}

/** Whether a failed call counts in windows and limits of calls: the provider had begun a success. */
export function countsAllTheSame(error: unknown): boolean {
  return error instanceof UpstreamFailure && error.hadSuccess;
}

/** Reports to a route's breakers how an attempt failed. */
export function reportFailure(permit: RoutePermit, error: unknown): void {
  // The gateway itself stopped the call: that says nothing about the route.
  if (!(error instanceof UpstreamFailure) || !error.blamesRoute) return;
  const { refusal, certainty, response } = error;
  if (refusal !== null) {
    const { failure } = REFUSAL_RULES[refusal.reason];
    if (failure === null) permit.succeeded();
    else permit.failed(`status ${refusal.status}`, failure);
  } else if (response.kind !== 'upstreamInvalid') {
    permit.failed(response.code, certainty === 'notSent' ? 'connection' : 'response');
  }
}

/** Reports to a route's breakers how an attempt that delivered something ended. */
export function reportResult(permit: RoutePermit, { status, error }: Pick<CallEnd, 'status' | 'error'>): void {
  if (status === 'succeeded') permit.succeeded();
  else if (error !== null) permit.failed(error.code, 'response');
}

/** The error that the client gets for a failure. */
export function toResponse(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof UpstreamFailure) return error.response;
  return new GatewayError('internal', { cause: error });
}

const REASON_LENGTH_MAX = 500;
/** Errors that name each other as their cause could go on for ever. */
const CAUSES_MAX = 4;

/** What is logged of a call that failed at a route: a provider's failure in one line, a fault of the gateway with its stack. */
export function failureDetails({ providerId, providerModel }: Route, error: unknown): object {
  const at = { provider: providerId, providerModel };
  if (!(error instanceof UpstreamFailure)) return { ...at, err: error };
  const { response, certainty, refusal } = error;
  return { ...at, code: response.code, certainty, status: refusal?.status, reason: reasonOf(error) };
}

/** The messages of an error and of its causes, each once. */
function reasonOf({ response, cause }: UpstreamFailure): string {
  const words = [response.message];
  for (let next: unknown = cause, i = 0; next !== undefined && i < CAUSES_MAX; i++) {
    const text = next instanceof Error ? next.message || codeOf(next) : String(next);
    if (!words.includes(text)) words.push(text);
    next = next instanceof Error ? next.cause : undefined;
  }
  return words.join(': ').slice(0, REASON_LENGTH_MAX);
}

/** An error of several connections has a code and no words. */
function codeOf(error: unknown): string {
  return isRecord(error) && typeof error.code === 'string' ? error.code : 'unknown';
}

/**
 * The turns of the credentials of a provider in a call over one route. Where the provider refuses the credential or limits its
 * rate, it did not run the call, and the next one is tried; after a limit of rate none that rests, which would meet the same
 * limit. A signature may be that of another account of the vendor, so the next credential is tried after a refusal of it too.
 */
export class CredentialTurns {
  readonly #credentials: Credentials;
  /** The provider's name of the model: limits of rate differ by model. */
  readonly #model: string;
  /** The session of the call, which keeps to one credential as it does to one route. */
  readonly #session: string | null;
  readonly #clock: Clock;
  #tried: readonly string[] = NONE;
  #limit: UpstreamFailure | null = null;
  #sentAtMs: number;
  #current: string;

  constructor(credentials: Credentials, model: string, session: string | null, clock: Clock) {
    this.#credentials = credentials;
    this.#model = model;
    this.#session = session;
    this.#clock = clock;
    this.#sentAtMs = clock.nowMs();
    // If nothing was tried yet there is a credential, however it stands.
    this.#current = credentials.next(model, NONE, true, this.#sentAtMs, session)!;
  }

  /** The credential whose turn it is; the call is sent with it now. */
  get current(): string {
    return this.#current;
  }

  /** The provider has accepted the current credential. */
  accepted(): void {
    this.#credentials.accepted(this.#current, this.#model, this.#sentAtMs);
  }

  /** The name of the current credential, for the log; `null` if it has been exchanged. */
  get currentName(): string | null {
    return this.#credentials.nameOf(this.#current);
  }

  /**
   * Notes with what error the call ended with the current credential, and takes the next one. `mayRepeat`: whether the client
   * still waits and has got nothing yet.
   *
   * @throws the error if no other credential may be tried; but if another one only met a limit of rate, that limit: it passes.
   */
  next(error: unknown, mayRepeat: boolean): void {
    if (!(error instanceof UpstreamFailure)) throw error;
    this.#note(error);
    const isLimit = error.refusal?.reason === 'rate';
    if ((!isLimit && !isOfAccount(error) && !isSignatureRefusal(error)) || !mayRepeat) throw error;
    if (isLimit) this.#limit = error;
    this.#tried = [...this.#tried, this.#current];
    const nowMs = this.#clock.nowMs();
    const next = this.#credentials.next(this.#model, this.#tried, this.#limit === null, nowMs, this.#session);
    if (next === null) throw this.#limit ?? error;
    this.#current = next;
    this.#sentAtMs = nowMs;
  }

  #note({ refusal, response }: UpstreamFailure): void {
    if (refusal === null) return;
    const nowMs = this.#clock.nowMs();
    if (refusal.reason === 'operator') {
      this.#credentials.refused(this.#current, refusal.status, nowMs);
    } else if (refusal.reason === 'rate') {
      const requestedMs = requestedRestMs(response.headers, nowMs);
      this.#credentials.rest(this.#current, this.#model, { sentAtMs: this.#sentAtMs, atMs: nowMs, requestedMs });
    } else if (refusal.reason === 'call' || refusal.reason === 'signature') {
      this.accepted();
    }
  }
}

const NONE: readonly string[] = [];

/** Whether the credential or the account behind it is refused, be it for this call alone: another one may be accepted. */
export function isOfAccount(error: unknown): error is UpstreamFailure {
  return error instanceof UpstreamFailure && error.response.kind === 'upstreamAccountRefused';
}
