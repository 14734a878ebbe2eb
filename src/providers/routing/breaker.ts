/** `probing`: one call, the probe, is in flight; other calls use other routes. */
export type BreakerState = 'closed' | 'open' | 'probing';

/**
 * A circuit breaker. `blame.ts` decides which failures open it. After a delay, an open breaker lets one call through as a probe, whose
 * result closes or reopens it. Another account may send a probe at once if the call itself might have caused the failure, or after the
 * delay if the first probe is still in flight.
 */
export class Breaker {
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

  /** The account that must wait until the next probe is due; `null`: all accounts must. */
  get boundAccountId(): string | null {
    return this.#boundAccountId;
  }

  /** Returns from when on calls of this account pass: always if the breaker is closed, never while the account's own probe is in flight. */
  letsThroughAtMs(accountId: string, probeAfterMs: number): number {
    if (this.#probeAtMs === null) return Number.NEGATIVE_INFINITY;
    if (this.#probe !== null) {
      return this.#probe.accountId === accountId ? Number.POSITIVE_INFINITY : this.#probe.startedAtMs + probeAfterMs;
    }
    const isBound = this.#boundAccountId === null || this.#boundAccountId === accountId;
    return isBound ? this.#probeAtMs : Number.NEGATIVE_INFINITY;
  }

  /** Lets a call through. The caller must have checked `letsThroughAtMs`. */
  enter(accountId: string, nowMs: number): BreakerPermit {
    const permit = new BreakerPermit(this, accountId, nowMs);
    if (this.#probeAtMs !== null) this.#probe = permit;
    return permit;
  }

  isProbe(permit: BreakerPermit): boolean {
    return this.#probe === permit;
  }

  /** Opens the breaker until `probeAtMs`. If `onlyFor` names an account, other accounts may send a probe earlier. */
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

  /** Whether the breaker has opened since this call began. If so, the call's result is ignored. */
  get isOutdated(): boolean {
    return this.#openings !== this.#breaker.openings;
  }

  /** Whether a failure of this call counts. It does not if a newer probe has replaced this one. */
  get mayBlame(): boolean {
    return !this.isOutdated && (this.isProbe || this.#breaker.state === 'closed');
  }

  end(): void {
    if (this.isProbe) this.#breaker.endProbe();
  }
}
