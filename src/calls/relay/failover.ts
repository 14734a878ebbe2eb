import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { isRecord } from '../../lib/json/json.ts';
import type { Route } from '../../providers/catalog/catalog.ts';
import type { CountedCall, LimitedUse } from '../../providers/limits/limited-use.ts';
import type { RoutePermit } from '../../providers/routing/health.ts';
import { requestedCooldownMs } from '../../providers/upstream/cooldown.ts';
import type { Credentials, MayUse } from '../../providers/upstream/credentials.ts';
import {
  credentialsUsedUp,
  noCredential,
  type RefusalReason,
  UpstreamFailure,
} from '../../providers/upstream/failure.ts';
import type { CallEnd } from '../call-end.ts';

/**
 * The consequences of events at a provider:
 *
 * | event | another route is tried | what the route's breakers count |
 * |---|---|---|
 * | no connection: refused, DNS, TLS, proxy | yes | a failure of the connection |
 * | all connections in use, for the maximum wait of a call | yes | nothing |
 * | a refusal, also as the first event of a stream | see `REFUSAL_RULES` | see `REFUSAL_RULES` |
 * | reset, or timeout, after the call was sent | no: the outcome is unknown | a failed response |
 * | a 200 that is not a response of the protocol, or cannot be billed | no | nothing |
 * | the stream breaks off | no: a part is delivered | a failed response |
 * | the client leaves | no | nothing |
 * | a success | no | a success |
 *
 * A connection failure counts against the route for all accounts. The call itself may cause other failures: `providers/routing/blame.ts`
 * decides whether they count against the route or the account.
 */

/** What follows from one reason of a refusal (`docs/routing.md`). */
interface RefusalRule {
  /** True if another route may serve the call, which the provider certainly did not execute. */
  readonly isTriedElsewhere: boolean;
  /** How the route's breakers count the refusal; `null`: as a success. */
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

/** Whether another route may be tried: true only if the provider certainly did not execute the call. */
export function mayTryAnother(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  if (error.certainty === 'notSent') return true;
  return error.refusal !== null && REFUSAL_RULES[error.refusal.reason].isTriedElsewhere;
}

export function isSignatureRefusal(error: unknown): boolean {
  return error instanceof UpstreamFailure && error.refusal?.reason === 'signature';
}

/**
 * Chooses the error for the client from the failures of all routes: the last one, or `null` if no healthy route is left. If the last route
 * refused a signature, an earlier temporary failure takes precedence, or `null` if an unhealthy route was skipped (`isSkipped`): that route
 * may accept the signature later.
 */
export function decisiveFailure(failures: readonly unknown[], isSkipped: boolean): unknown {
  const last = failures.at(-1) ?? null;
  if (!isSignatureRefusal(last)) return last;
  return failures.findLast(isTemporary) ?? (isSkipped ? null : last);
}

function isTemporary(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  return error.certainty === 'notSent' || error.refusal?.reason === 'rate' || error.refusal?.reason === 'capacity';
}

/** Whether the provider may have executed the failed call. If so, later requests with the same `Idempotency-Key` get the failure. */
export function mayHaveRun(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  return error.certainty === 'unknown' || error.refusal?.reason === 'lost';
}

/** Whether windows count a failed call: true if the provider had begun a successful response. */
export function countsDespiteFailure(error: unknown): boolean {
  return error instanceof UpstreamFailure && error.hadSuccess;
}

export function reportFailure(permit: RoutePermit, error: unknown): void {
  // If the gateway itself stopped the call, the route has not failed.
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

export function reportResult(permit: RoutePermit, { status, error }: Pick<CallEnd, 'status' | 'error'>): void {
  if (status === 'succeeded') permit.succeeded();
  else if (error !== null) permit.failed(error.code, 'response');
}

export function toResponse(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof UpstreamFailure) return error.response;
  return new GatewayError('internal', { cause: error });
}

const REASON_LENGTH_MAX = 500;
/** Errors can be each other's cause, so nested causes are limited. */
const CAUSES_MAX = 4;

/** The details are a line for a provider's failure, and a stack for a fault of the gateway. */
export function failureDetails({ providerId, providerModel }: Route, error: unknown): object {
  const at = { provider: providerId, providerModel };
  if (!(error instanceof UpstreamFailure)) return { ...at, err: error };
  const { response, certainty, refusal } = error;
  return { ...at, code: response.code, certainty, status: refusal?.status, reason: reasonOf(error) };
}

function reasonOf({ response, cause }: UpstreamFailure): string {
  const words = [response.message];
  for (let next: unknown = cause, i = 0; next !== undefined && i < CAUSES_MAX; i++) {
    const text = next instanceof Error ? next.message || codeOf(next) : String(next);
    if (!words.includes(text)) words.push(text);
    next = next instanceof Error ? next.cause : undefined;
  }
  return words.join(': ').slice(0, REASON_LENGTH_MAX);
}

/** If several connections fail, Node's error has a code and no message. */
function codeOf(error: unknown): string {
  return isRecord(error) && typeof error.code === 'string' ? error.code : 'unknown';
}

/** What the limits of credentials need from a call. */
export interface CredentialLimits {
  /** Limits of credentials by name. */
  readonly uses: ReadonlyMap<string, LimitedUse>;
  /** The tokens that the call is estimated to use. */
  readonly tokens: number;
}

/**
 * Chooses a provider's credential for a call on one route. After a refused or rate-limited credential, or a refused signature, the next one
 * is tried. Another account at the vendor may have signed the block. After a rate limit, credentials in cooldown are skipped. Credentials
 * that have reached a limit of the operator are always skipped.
 */
export class CredentialRotation {
  readonly #credentials: Credentials;
  /** The provider's name of the model. Rate limits are tracked per model. */
  readonly #model: string;
  /** Key of the session, which prefers one credential; `null`: credentials rotate. */
  readonly #session: string | null;
  readonly #clock: Clock;
  readonly #limits: CredentialLimits | null;
  #tried: readonly string[] = NONE;
  #limit: UpstreamFailure | null = null;
  #sentAtMs: number;
  #current: string;
  /** The call as the limits of the current credential count it; `null`: it has none. */
  #counted: CountedCall | null = null;

  /** @param limits `null`: no credential has limits */
  constructor(
    credentials: Credentials,
    model: string,
    session: string | null,
    clock: Clock,
    limits: CredentialLimits | null = null,
  ) {
    this.#credentials = credentials;
    this.#model = model;
    this.#session = session;
    this.#clock = clock;
    this.#limits = limits;
    this.#sentAtMs = clock.nowMs();
    const first = credentials.next(model, NONE, true, this.#sentAtMs, session, this.#mayUse(this.#sentAtMs));
    if (first === null) throw limits === null ? noCredential() : credentialsUsedUp();
    this.#current = first;
    this.#begin();
  }

  get current(): string {
    return this.#current;
  }

  /** When the current credential was chosen. */
  get sentAtMs(): number {
    return this.#sentAtMs;
  }

  accepted(): void {
    this.#credentials.accepted(this.#current, this.#model, this.#sentAtMs);
  }

  /** Name of the credential in use; `null` if a new configuration has replaced it. */
  get currentName(): string | null {
    return this.#credentials.nameOf(this.#current);
  }

  /**
   * Records the error and moves to the next credential.
   * @param mayRepeat whether the client still waits and has received nothing
   * @throws the error if no other credential can be tried; after an earlier rate limit, the error of that limit, because it is temporary
   */
  next(error: unknown, mayRepeat: boolean): void {
    if (!(error instanceof UpstreamFailure)) throw error;
    this.#note(error);
    const isLimit = error.refusal?.reason === 'rate';
    if ((!isLimit && !isOfAccount(error) && !isSignatureRefusal(error)) || !mayRepeat) throw error;
    if (isLimit) this.#limit = error;
    this.#tried = [...this.#tried, this.#current];
    this.ended(0);
    const nowMs = this.#clock.nowMs();
    const mayUse = this.#mayUse(nowMs);
    const next = this.#credentials.next(this.#model, this.#tried, this.#limit === null, nowMs, this.#session, mayUse);
    if (next === null) throw this.#limit ?? error;
    this.#current = next;
    this.#sentAtMs = nowMs;
    this.#begin();
  }

  /** Identifies the current credential in records; `null`: its cost is not limited. */
  get costedAs(): string | null {
    return this.#counted === null ? null : this.#counted.use.costedAs;
  }

  /** Called with the headers of each response, if the provider follows the vendor's limits. */
  received(headers: IncomingHttpHeaders): void {
    this.#credentials.received(this.#current, this.#model, headers, this.#clock.nowMs());
  }

  /** Ends the attempt for the limits of its credential. `tokens` are those that it used. */
  ended(tokens: number): void {
    if (this.#counted === null) return;
    this.#counted.use.end(this.#counted, tokens, this.#clock.nowMs());
    this.#counted = null;
  }

  #mayUse(nowMs: number): MayUse | null {
    if (this.#limits === null) return null;
    const { uses } = this.#limits;
    return (name) => (uses.get(name)?.freeAtMs(nowMs) ?? nowMs) <= nowMs;
  }

  #begin(): void {
    if (this.#limits === null) return;
    const use = this.#limits.uses.get(this.currentName ?? '');
    this.#counted = use?.begin(this.#limits.tokens, this.#sentAtMs) ?? null;
  }

  #note({ refusal, response }: UpstreamFailure): void {
    if (refusal === null) return;
    const nowMs = this.#clock.nowMs();
    if (refusal.reason === 'operator') {
      this.#credentials.refused(this.#current, refusal.status, nowMs);
    } else if (refusal.reason === 'rate') {
      const requestedMs = requestedCooldownMs(response.headers, nowMs);
      this.#credentials.startCooldown(this.#current, this.#model, {
        sentAtMs: this.#sentAtMs,
        atMs: nowMs,
        requestedMs,
      });
    } else if (refusal.reason === 'call' || refusal.reason === 'signature') {
      this.accepted();
    }
  }
}

const NONE: readonly string[] = [];

/** Whether the provider refused the operator's account, in general or only for this call. Another credential may then be accepted. */
export function isOfAccount(error: unknown): error is UpstreamFailure {
  return error instanceof UpstreamFailure && error.response.kind === 'upstreamAccountRefused';
}
