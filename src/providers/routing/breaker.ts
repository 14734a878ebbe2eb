/**
 * - `closed`: calls pass.
 * - `open`: calls are blocked until the time of the next probe.
 * - `probing`: one call, the probe, is in flight; other calls use other routes.
 */
export type BreakerState = 'closed' | 'open' | 'probing';

/**
 * A circuit breaker. `blame.ts` decides which failures open it. After a delay, an open breaker lets one call through as a probe: success closes the
 * breaker, failure opens it again.
 *
 * A probe of one account does not block other accounts. If a probe failed because of its own call, another account may send one immediately; if a
 * probe takes longer than the delay between probes, another account may send one too.
 */
export class Breaker {
  /** `null` while the breaker is closed. */
  #probeAtMs: number | null = null;
  #probe: BreakerPermit | null = null;
  #boundAccountId: string | null = null;
  #openings = 0;

  get state(): BreakerState {
    if (this.#probeAtMs === null) return 'closed';
    return this.#probe === null ? 'open' : 'probing';
  }

  get openings(): number {
    return this.#openings;
  }

  get probeAtMs(): number | null {
    return this.#probe === null ? this.#probeAtMs : null;
  }

  /** The only account that must wait for the next probe; `null`: all accounts. */
  get boundAccountId(): string | null {
    return this.#boundAccountId;
  }

  /** When calls of this account may pass: always if the breaker is closed, never while the account's own probe is in flight. */
  letsThroughAtMs(accountId: string, probeAfterMs: number): number {
    if (this.#probeAtMs === null) return Number.NEGATIVE_INFINITY;
    if (this.#probe !== null) {
      return this.#probe.accountId === accountId ? Number.POSITIVE_INFINITY : this.#probe.startedAtMs + probeAfterMs;
    }
    const isBound = this.#boundAccountId === null || this.#boundAccountId === accountId;
    return isBound ? this.#probeAtMs : Number.NEGATIVE_INFINITY;
  }

  /** The caller must have checked that the call may pass. */
  enter(accountId: string, nowMs: number): BreakerPermit {
    const permit = new BreakerPermit(this, accountId, nowMs);
    if (this.#probeAtMs !== null) this.#probe = permit;
    return permit;
  }

  isProbe(permit: BreakerPermit): boolean {
    return this.#probe === permit;
  }

  /** Opens, or reopens. If `onlyFor` is an account, other accounts may send a probe before that time. */
  open(probeAtMs: number, onlyFor: string | null = null): void {
    this.#probeAtMs = probeAtMs;
    this.#probe = null;
    this.#boundAccountId = onlyFor;
    this.#openings++;
  }

  close(): void {
    this.#probeAtMs = null;
    this.#probe = null;
    this.#boundAccountId = null;
  }

  /** Ignores the results of calls in flight. */
  outdateCalls(): void {
    this.#openings++;
  }

  endProbe(): void {
    this.#probe = null;
  }
}

export class BreakerPermit {
  readonly accountId: string;
  readonly startedAtMs: number;
  readonly #breaker: Breaker;
  readonly #openings: number;

  constructor(breaker: Breaker, accountId: string, startedAtMs: number) {
    this.accountId = accountId;
    this.startedAtMs = startedAtMs;
    this.#breaker = breaker;
    this.#openings = breaker.openings;
  }

  get isProbe(): boolean {
    return this.#breaker.isProbe(this);
  }

  /** Whether the call began before the breaker last opened. Its result is then ignored. */
  get isOutdated(): boolean {
    return this.#openings !== this.#breaker.openings;
  }

  /** Whether a failure of the call counts: the call is neither outdated nor a probe that was replaced by another. */
  get mayBlame(): boolean {
    return !this.isOutdated && (this.isProbe || this.#breaker.state === 'closed');
  }

  end(): void {
    if (this.isProbe) this.#breaker.endProbe();
  }
}
