/**
 * - `closed`: calls go through.
 * - `open`: none does, until it is time for a probe.
 * - `probing`: one call, the probe, is under way; the others take other routes meanwhile.
 */
export type BreakerState = 'closed' | 'open' | 'probing';

/**
 * The state of one breaker; `blame.ts` decides which failures open it. After a while an open breaker lets one call
 * through, the probe: a success closes it, a failure opens it again.
 *
 * A probe of one account does not keep the others out: if a probe failed because of its own call, another account
 * may send one at once, and where it takes longer than the time between probes, another account may send one as well.
 */
export class Breaker {
  /** Set while the breaker is not closed. */
  #probeAtMs: number | null = null;
  #probe: BreakerPermit | null = null;
  #boundAccountId: string | null = null;
  #openings = 0;

  get state(): BreakerState {
    if (this.#probeAtMs === null) return 'closed';
    return this.#probe === null ? 'open' : 'probing';
  }

  /** How often the breaker has opened. */
  get openings(): number {
    return this.#openings;
  }

  /** When a probe is let through; `null` if the breaker is not open. */
  get probeAtMs(): number | null {
    return this.#probe === null ? this.#probeAtMs : null;
  }

  /** The only account that has to wait until the time of the probe; `null`: all accounts have to wait. */
  get boundAccountId(): string | null {
    return this.#boundAccountId;
  }

  /** From when on calls of this account are let through: any time if it is closed, never while its own probe is under way. */
  letsThroughAtMs(accountId: string, probeAfterMs: number): number {
    if (this.#probeAtMs === null) return Number.NEGATIVE_INFINITY;
    if (this.#probe !== null) {
      return this.#probe.accountId === accountId ? Number.POSITIVE_INFINITY : this.#probe.startedAtMs + probeAfterMs;
    }
    const isBound = this.#boundAccountId === null || this.#boundAccountId === accountId;
    return isBound ? this.#probeAtMs : Number.NEGATIVE_INFINITY;
  }

  /** Lets a call through; the caller has checked that it may go. */
  enter(accountId: string, nowMs: number): BreakerPermit {
    const permit = new BreakerPermit(this, accountId, nowMs);
    if (this.#probeAtMs !== null) this.#probe = permit;
    return permit;
  }

  isProbe(permit: BreakerPermit): boolean {
    return this.#probe === permit;
  }

  /** Opens, or opens again. Where `onlyFor` is an account, another one may send a probe before the time. */
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

  /** The results of calls under way no longer count. */
  outdateCalls(): void {
    this.#openings++;
  }

  endProbe(): void {
    this.#probe = null;
  }
}

/** A call that a breaker has let through. */
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

  /** Whether the call is a probe. */
  get isProbe(): boolean {
    return this.#breaker.isProbe(this);
  }

  /** Whether the call began before the breaker opened, so that its result no longer counts. */
  get isOutdated(): boolean {
    return this.#openings !== this.#breaker.openings;
  }

  /** Whether a failure of the call counts: it is not outdated, nor a probe that another one has replaced. */
  get mayBlame(): boolean {
    return !this.isOutdated && (this.isProbe || this.#breaker.state === 'closed');
  }

  /** The call has ended without a result. */
  end(): void {
    if (this.isProbe) this.#breaker.endProbe();
  }
}
