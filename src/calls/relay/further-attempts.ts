import { type FallbackReason, RETRIED_FAILURES, type RetriedFailure } from '../../config/attempt-schema.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { FallbackTerms, RetryTerms } from '../../providers/catalog/attempt-terms.ts';
import type { Route } from '../../providers/catalog/catalog.ts';
import { isSilence, UpstreamFailure } from '../../providers/upstream/failure.ts';
import type { IsRefusal } from '../../providers/upstream/stream-refusal.ts';
import { isSignatureRefusal, mayTryAnother } from './failover.ts';
import { isContextTooLong, isFiltered } from './refused-content.ts';

/** What `retry.on` calls a failure; `null`: no setting names it. Once a response has begun, none does. */
export function retriedFailureOf(error: unknown): RetriedFailure | null {
  if (!(error instanceof UpstreamFailure) || error.hadSuccess) return null;
  const { refusal, certainty, response } = error;
  if (refusal !== null) return RETRIED_FAILURES.find((each) => each === String(refusal.status)) ?? null;
  if (certainty !== 'unknown') return null;
  if (response.kind === 'upstreamError') return 'reset';
  if (response.kind !== 'upstreamTimeout') return null;
  return isSilence(error.cause) ? 'silence' : 'timeout';
}

/** What `fallbackOn` calls a failure; `null`: no other model serves the call. A signature is state, which no other model can read. */
export function fallbackReasonOf(error: unknown): FallbackReason | null {
  if (error instanceof GatewayError) return CLOSED.has(error.kind) ? 'unavailable' : null;
  if (!(error instanceof UpstreamFailure) || isSignatureRefusal(error)) return null;
  const { refusal, response, certainty } = error;
  if (refusal?.reason === 'call' && isContextTooLong(response)) return 'context';
  if ((refusal?.reason === 'call' || refusal?.reason === 'permission') && isFiltered(response)) return 'filter';
  return certainty === 'notSent' || mayTryAnother(error) ? 'unavailable' : null;
}

/** Errors of the gateway if no route of a model takes calls at present. */
const CLOSED: ReadonlySet<GatewayError['kind']> = new Set(['noHealthyRoute', 'routePolicyInvalid']);

interface FallbackState {
  readonly hasFallbackLeft: boolean;
  readonly fallbackTerms: FallbackTerms | null;
}

const NONE: readonly Route[] = [];

/** Decides which route a call is sent to next: first each route in order, then routes that may be attempted again. */
export class RouteQueue {
  readonly #routes: readonly Route[];
  /** Routes that are only tried after a refused signature. */
  readonly #ofSigner: readonly Route[];
  #again: readonly Route[] = NONE;
  readonly #retry: RetryTerms | null;
  #furtherMax: number;
  /** Numbers of routes that were returned. */
  #at = 0;
  #signerAt = 0;
  #againAt = 0;

  /** @param retry `null`: a call that might have run is not attempted again */
  constructor(routes: readonly Route[], ofSigner: readonly Route[], retry: RetryTerms | null) {
    this.#routes = routes;
    this.#ofSigner = ofSigner;
    this.#retry = retry;
    this.#furtherMax = retry?.attemptsMax ?? 0;
  }

  /** @param failure the last one; `null`: none yet */
  next(failure: unknown): Route | null {
    if (this.#at < this.#routes.length) return this.#routes[this.#at++]!;
    if (this.#againAt < this.#again.length) return this.#again[this.#againAt++]!;
    if (this.#signerAt === this.#ofSigner.length || !isSignatureRefusal(failure)) return null;
    return this.#ofSigner[this.#signerAt++]!;
  }

  /** Decides which errors as first events of a stream are refusals; `null`: none, because no other attempt is left. */
  refusalsOf(call: FallbackState): IsRefusal | null {
    const hasAlternative =
      this.#furtherMax > 0 || this.#hasRoute || this.#signerAt < this.#ofSigner.length || call.hasFallbackLeft;
    if (!hasAlternative) return null;
    return (failure) => {
      if (isSignatureRefusal(failure) || this.#isRetried(failure)) return true;
      const reason = call.hasFallbackLeft ? fallbackReasonOf(failure) : null;
      return reason !== null && call.fallbackTerms!.on.has(reason);
    };
  }

  #isRetried(error: unknown): boolean {
    const failure = this.#furtherMax > 0 ? retriedFailureOf(error) : null;
    return failure !== null && this.#retry!.on.has(failure);
  }

  get #hasRoute(): boolean {
    return this.#at < this.#routes.length || this.#againAt < this.#again.length;
  }

  /** Longest wait for the first byte of an attempt; `null`: as long as the provider allows. The last attempt has time. */
  get firstByteMs(): number | null {
    return this.#furtherMax > 0 ? (this.#retry?.firstByteMs ?? null) : null;
  }

  /** Decides after a failure whether another attempt follows. `lost`: it does, although the failed one might have run. */
  after(route: Route, error: unknown): 'next' | 'lost' | 'over' {
    const isCertain = mayTryAnother(error);
    if (isCertain && this.#hasRoute) return 'next';
    if (this.#isRetried(error)) {
      this.#furtherMax--;
      this.#again = [...this.#again, route];
      return isCertain ? 'next' : 'lost';
    }
    return isCertain ? 'next' : 'over';
  }
}
