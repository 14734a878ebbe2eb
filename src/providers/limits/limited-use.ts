import {
  drained,
  msUntilAnyFree,
  msUntilOneFree,
  ONE,
  undrained,
  withMore,
  withoutUndrained,
} from '../../accounting/reservations/limits/rate-bucket.ts';
import type { UseLimitsConfig } from '../../config/use-limits-schema.ts';

/** Calls and tokens since the start of a process, and calls in flight. */
export interface UseCounts {
  readonly requests: number;
  readonly tokens: number;
  readonly inFlight: number;
}

/** What the calls of a day and of its month cost, as recorded by all nodes. */
export interface CostsOfPeriods {
  readonly dayNano: bigint;
  readonly monthNano: bigint;
  readonly dayEndsAtMs: number;
  readonly monthEndsAtMs: number;
}

export interface LimitStatus {
  readonly kind: 'requestsPerMinute' | 'tokensPerMinute' | 'concurrentCalls';
  readonly max: number;
  readonly used: number;
  /** When the limit allows a call again; `null`: now, or unknown. */
  readonly freeAtMs: number | null;
}

export interface BudgetStatus {
  readonly kind: 'day' | 'month';
  readonly maxNano: bigint;
  readonly usedNano: bigint;
  readonly endsAtMs: number;
}

/** A call that was counted and has not ended. */
export interface CountedCall {
  readonly use: LimitedUse;
  /** The tokens that it is estimated to use, at most a minute's. */
  readonly tokens: number;
  /** Fill of the bucket of tokens with them, its maximum, and the time; `null`: tokens are not limited. */
  readonly fill: Parameters<typeof undrained>[0] | null;
}

/** When a call is worth another try if only the end of another call is awaited. */
const SOON_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const NO_COSTS: CostsOfPeriods = {
  dayNano: 0n,
  monthNano: 0n,
  dayEndsAtMs: Number.NEGATIVE_INFINITY,
  monthEndsAtMs: Number.NEGATIVE_INFINITY,
};

/**
 * The use of a provider, a route or a credential that has limits. Rates are token buckets, as those of accounts (`rate-bucket.ts`). This
 * process counts its own calls at once; the use by other processes and the costs arrive some seconds later (`use-exchange.ts`).
 */
export class LimitedUse {
  readonly id: string;
  readonly #credentialId: string | null;
  #limits: UseLimitsConfig;
  /** Fill of the buckets at `#countedAtMs`, in the unit of `rate-bucket.ts`. */
  #requests = 0;
  #tokens = 0;
  /** The part of `#tokens` that other processes used and that has certainly not drained. */
  #tokensElsewhere = 0;
  #countedAtMs = Number.NEGATIVE_INFINITY;
  #own = { requests: 0, tokens: 0, inFlight: 0 };
  #inFlightElsewhere = 0;
  #costs = NO_COSTS;

  /** @param credentialId identifies a credential in records; `null`: this is not one */
  constructor(id: string, limits: UseLimitsConfig, credentialId: string | null = null) {
    this.id = id;
    this.#credentialId = credentialId;
    this.#limits = limits;
  }

  get limits(): UseLimitsConfig {
    return this.#limits;
  }

  /** Applies the limits of another configuration. What was used stays, but takes no longer to drain if a limit is lower. */
  change(limits: UseLimitsConfig): void {
    const { requestsPerMinute, tokensPerMinute } = this.#limits;
    this.#requests = refilled(this.#requests, requestsPerMinute, limits.requestsPerMinute);
    this.#tokens = refilled(this.#tokens, tokensPerMinute, limits.tokensPerMinute);
    this.#tokensElsewhere = Math.min(this.#tokensElsewhere, this.#tokens);
    this.#limits = limits;
  }

  /** Identifies the credential in records of its calls; `null`: its cost is not limited. */
  get costedAs(): string | null {
    const { dailyCostYuan, monthlyCostYuan } = this.#limits;
    return (dailyCostYuan ?? monthlyCostYuan) === undefined ? null : this.#credentialId;
  }

  get counts(): UseCounts {
    return { ...this.#own };
  }

  /** Returns from when on another call is allowed: `nowMs` if it is now. */
  freeAtMs(nowMs: number): number {
    this.#drain(nowMs);
    const { requestsPerMinute, tokensPerMinute, concurrentCalls, dailyCostYuan, monthlyCostYuan } = this.#limits;
    const { dayNano, monthNano, dayEndsAtMs, monthEndsAtMs } = this.#costs;
    let freeAtMs = nowMs;
    if (requestsPerMinute !== undefined) freeAtMs = nowMs + msUntilOneFree(this.#requests, requestsPerMinute);
    if (tokensPerMinute !== undefined)
      freeAtMs = Math.max(freeAtMs, nowMs + msUntilAnyFree(this.#tokens, tokensPerMinute));
    if (concurrentCalls !== undefined && this.#inFlight >= concurrentCalls)
      freeAtMs = Math.max(freeAtMs, nowMs + SOON_MS);
    if (dailyCostYuan !== undefined && dayNano >= dailyCostYuan) freeAtMs = Math.max(freeAtMs, dayEndsAtMs);
    if (monthlyCostYuan !== undefined && monthNano >= monthlyCostYuan) freeAtMs = Math.max(freeAtMs, monthEndsAtMs);
    return freeAtMs;
  }

  /**
   * Counts a call that begins, with the tokens that it is estimated to use. An estimate can be many times what a call uses, so others wait
   * for a minute at most until it is known.
   */
  begin(estimated: number, nowMs: number): CountedCall {
    this.#drain(nowMs);
    const tokens = Math.min(estimated, this.#limits.tokensPerMinute ?? estimated);
    this.#add(1, tokens);
    this.#own.inFlight++;
    this.#own.requests++;
    this.#own.tokens += tokens;
    const { tokensPerMinute } = this.#limits;
    return { use: this, tokens, fill: tokensPerMinute === undefined ? null : [this.#tokens, tokensPerMinute, nowMs] };
  }

  /** Counts another request of a call, which is sent again with another credential. */
  repeat(nowMs: number): void {
    this.#drain(nowMs);
    this.#add(1, 0);
    this.#own.requests++;
  }

  /** Ends a call. `used` are the tokens that it used; 0 if it did not run. */
  end({ tokens, fill }: CountedCall, used: number, nowMs: number): void {
    this.#drain(nowMs);
    this.#own.inFlight--;
    this.#own.tokens += used - tokens;
    if (used >= tokens) this.#add(0, used - tokens);
    else if (fill !== null)
      this.#tokens = withoutUndrained(this.#tokens, tokens - used, undrained(fill, tokens, nowMs));
  }

  /**
   * Counts what other processes used since the last time, and replaces the number of their calls in flight. `tokens` is negative if calls
   * used less than was estimated. As with own calls, only what has not drained is given back.
   */
  addElsewhere({ requests, tokens, inFlight }: UseCounts, nowMs: number): void {
    this.#drain(nowMs);
    this.#inFlightElsewhere = inFlight;
    this.#add(requests, Math.max(tokens, 0));
    if (this.#limits.tokensPerMinute === undefined) return;
    if (tokens < 0) this.#tokens = withoutUndrained(this.#tokens, -tokens, this.#tokensElsewhere);
    this.#tokensElsewhere = Math.max(withMore(this.#tokensElsewhere, tokens), 0);
  }

  setCosts(costs: CostsOfPeriods): void {
    this.#costs = costs;
  }

  limitStatus(nowMs: number): LimitStatus[] {
    this.#drain(nowMs);
    const { requestsPerMinute, tokensPerMinute, concurrentCalls } = this.#limits;
    const rate = (
      kind: LimitStatus['kind'],
      max: number | undefined,
      fill: number,
      waitMs: (used: number, max: number) => number,
    ): LimitStatus[] => {
      if (max === undefined) return [];
      const freeInMs = waitMs(fill, max);
      return [{ kind, max, used: Math.ceil(fill / ONE), freeAtMs: freeInMs === 0 ? null : nowMs + freeInMs }];
    };
    return [
      ...rate('requestsPerMinute', requestsPerMinute, this.#requests, msUntilOneFree),
      ...rate('tokensPerMinute', tokensPerMinute, this.#tokens, msUntilAnyFree),
      ...(concurrentCalls === undefined
        ? []
        : [{ kind: 'concurrentCalls', max: concurrentCalls, used: this.#inFlight, freeAtMs: null } as const]),
    ];
  }

  get budgetStatus(): BudgetStatus[] {
    const { dailyCostYuan, monthlyCostYuan } = this.#limits;
    const { dayNano, monthNano, dayEndsAtMs, monthEndsAtMs } = this.#costs;
    const ofDay = { kind: 'day', maxNano: dailyCostYuan ?? 0n, usedNano: dayNano, endsAtMs: dayEndsAtMs } as const;
    const ofMonth = {
      kind: 'month',
      maxNano: monthlyCostYuan ?? 0n,
      usedNano: monthNano,
      endsAtMs: monthEndsAtMs,
    } as const;
    return [...(dailyCostYuan === undefined ? [] : [ofDay]), ...(monthlyCostYuan === undefined ? [] : [ofMonth])];
  }

  get #inFlight(): number {
    return this.#own.inFlight + this.#inFlightElsewhere;
  }

  #add(requests: number, tokens: number): void {
    const { requestsPerMinute, tokensPerMinute } = this.#limits;
    if (requestsPerMinute !== undefined) this.#requests = withMore(this.#requests, requests);
    if (tokensPerMinute !== undefined) this.#tokens = withMore(this.#tokens, tokens);
  }

  #drain(nowMs: number): void {
    // A fill is at most some minutes old. After a jump of the clock to the past, it is kept until then.
    if (nowMs <= this.#countedAtMs && nowMs > this.#countedAtMs - MINUTE_MS) return;
    const elapsedMs = Math.min(nowMs - this.#countedAtMs, DAY_MS);
    this.#requests = drained(this.#requests, this.#limits.requestsPerMinute ?? 0, elapsedMs);
    this.#tokens = drained(this.#tokens, this.#limits.tokensPerMinute ?? 0, elapsedMs);
    this.#tokensElsewhere = drained(this.#tokensElsewhere, this.#limits.tokensPerMinute ?? 0, elapsedMs);
    this.#countedAtMs = nowMs;
  }
}

/**
 * Returns the fill of a bucket whose limit changes; `undefined`: no limit. Under a lower limit, it drains in the time it would have taken,
 * or in a minute.
 */
function refilled(fill: number, before: number | undefined, after: number | undefined): number {
  if (before === undefined || after === undefined) return 0;
  return Math.min(fill, Math.max(after * ONE, Math.floor((fill / before) * after)));
}
