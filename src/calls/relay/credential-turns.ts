import type { Clock } from '../../lib/clock.ts';
import type { Credentials } from '../../providers/upstream/credentials.ts';
import { UpstreamFailure } from '../../providers/upstream/failure.ts';
import { requestedRestMs } from '../../providers/upstream/rest.ts';

/**
 * The turns of the credentials of a provider in a call over one route. Where the provider refuses the credential or limits its
 * rate, it did not run the call, and the next one is tried; after a limit of rate none that rests, which would meet the same
 * limit.
 */
export class CredentialTurns {
  readonly #credentials: Credentials;
  /** The provider's name of the model: limits of rate differ by model. */
  readonly #model: string;
  readonly #clock: Clock;
  #tried: readonly string[] = NONE;
  #limit: UpstreamFailure | null = null;
  #sentAtMs: number;
  #current: string;

  constructor(credentials: Credentials, model: string, clock: Clock) {
    this.#credentials = credentials;
    this.#model = model;
    this.#clock = clock;
    this.#sentAtMs = clock.nowMs();
    // If nothing was tried yet there is a credential, however it stands.
    this.#current = credentials.next(model, NONE, true, this.#sentAtMs)!;
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
    if ((!isLimit && !isOfAccount(error)) || !mayRepeat) throw error;
    if (isLimit) this.#limit = error;
    this.#tried = [...this.#tried, this.#current];
    const nowMs = this.#clock.nowMs();
    const next = this.#credentials.next(this.#model, this.#tried, this.#limit === null, nowMs);
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
    } else if (refusal.reason === 'call') {
      this.accepted();
    }
  }
}

const NONE: readonly string[] = [];

/** Whether the credential or the account behind it is refused, be it for this call alone: another one may be accepted. */
export function isOfAccount(error: unknown): error is UpstreamFailure {
  return error instanceof UpstreamFailure && error.response.kind === 'upstreamAccountRefused';
}
