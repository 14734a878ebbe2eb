import type { PlanTerms } from '../../src/accounting/plans/plan.ts';
import type { Refusal } from '../../src/accounting/reservations/reservation.ts';

/**
 * A Coding Plan stated as simply as possible: lists that are filtered, with nothing remembered between two queries. The real one has to
 * agree with it in every sequence of events.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

interface ReferenceCall {
  readonly subscription: ReferenceSubscription;
  readonly atMs: number;
  state: 'in flight' | 'counted' | 'released';
  tokens: number;
  readonly reservedTokens: number;
}

export interface ReferenceSubscription {
  readonly planId: string;
  readonly startsAtMs: number;
  endsAtMs: number;
  isCanceled: boolean;
}

export interface ReferenceRequest {
  readonly callId: string;
  readonly model: string;
  readonly inputBytes: number;
  readonly outputTokensRequested: number;
  readonly tokens: number;
  readonly innerModels: readonly string[];
}

export interface ReferenceVerdict {
  readonly kind: 'admitted' | Refusal['kind'];
  readonly retryAt: Refusal['retryAt'];
  /** What remains of both windows after the call; `null` if it was refused. */
  readonly callsLeft: number | null;
}

/** One account. */
export class ReferenceAccount {
  readonly #plans: readonly PlanTerms[];
  readonly #subscriptions: ReferenceSubscription[] = [];
  readonly #calls = new Map<string, ReferenceCall>();

  constructor(plans: readonly PlanTerms[]) {
    this.#plans = plans;
  }

  grant(planId: string, startsAtMs: number): ReferenceSubscription | null {
    const endsAtMs = startsAtMs + this.#plan(planId).periodDays * DAY_MS;
    const overlaps = this.#subscriptions.some(
      (other) => !other.isCanceled && other.startsAtMs < endsAtMs && other.endsAtMs > startsAtMs,
    );
    if (overlaps) return null;
    const subscription = { planId, startsAtMs, endsAtMs, isCanceled: false };
    this.#subscriptions.push(subscription);
    return subscription;
  }

  admit(request: ReferenceRequest, nowMs: number): ReferenceVerdict {
    const active = this.#active(nowMs);
    if (active === null) {
      const isExpired = this.#subscriptions.some((past) => !past.isCanceled && past.endsAtMs <= nowMs);
      return { kind: isExpired ? 'packageExpired' : 'insufficientPackage', retryAt: null, callsLeft: null };
    }
    const plan = this.#plan(active.planId);
    const refused = (kind: Refusal['kind'], retryAt: Refusal['retryAt'] = null): ReferenceVerdict => ({
      kind,
      retryAt,
      callsLeft: null,
    });
    if (![request.model, ...request.innerModels].every((model) => plan.models.has(model))) {
      return refused('modelNotInPackage');
    }
    if (request.inputBytes > plan.inputBytesMax) return refused('packageInputTooLarge');
    if (request.outputTokensRequested > plan.outputTokensMax) return refused('packageOutputLimitExceeded');

    const used = this.use(active, nowMs);
    if (used.fiveHour.length >= plan.fiveHourCalls) {
      const oldest = used.fiveHour.map(({ atMs }) => atMs).sort((a, b) => a - b)[
        used.fiveHour.length - plan.fiveHourCalls
      ];
      return refused('packageFiveHourQuotaExhausted', (oldest ?? nowMs) + 5 * HOUR_MS);
    }
    if (used.weekCalls >= plan.weeklyCalls) {
      return refused('packageWeeklyQuotaExhausted', active.startsAtMs + (used.week + 1) * WEEK_MS);
    }
    if (used.tokens >= plan.quotaTokens) {
      const periodEndMs = active.startsAtMs + (used.period + 1) * plan.periodDays * DAY_MS;
      return refused('packageTokensExhausted', Math.min(periodEndMs, active.endsAtMs));
    }
    if (used.inFlight >= plan.concurrency || used.tokens + used.reservedTokens >= plan.quotaTokens) {
      return refused('packageConcurrencyLimited', 'soon');
    }
    const { callId, tokens: reservedTokens } = request;
    this.#calls.set(callId, { subscription: active, atMs: nowMs, state: 'in flight', tokens: 0, reservedTokens });
    const callsLeft = Math.min(plan.fiveHourCalls - used.fiveHour.length, plan.weeklyCalls - used.weekCalls) - 1;
    return { kind: 'admitted', retryAt: null, callsLeft };
  }

  end(callId: string, counts: boolean, tokens: number): void {
    const call = this.#calls.get(callId)!;
    call.state = counts ? 'counted' : 'released';
    call.tokens = counts ? tokens : 0;
  }

  /** The use of a subscription at an instant. */
  use(subscription: ReferenceSubscription, nowMs: number) {
    const { periodDays } = this.#plan(subscription.planId);
    const numberOf = (atMs: number, lengthMs: number): number =>
      Math.floor((atMs - subscription.startsAtMs) / lengthMs);
    const week = numberOf(nowMs, WEEK_MS);
    const period = numberOf(nowMs, periodDays * DAY_MS);
    const calls = [...this.#calls.values()].filter((call) => call.subscription === subscription);
    const inFlight = calls.filter(({ state }) => state === 'in flight');
    const counting = calls.filter(({ state }) => state !== 'released');
    return {
      week,
      period,
      fiveHour: counting.filter(({ atMs }) => atMs > nowMs - 5 * HOUR_MS),
      weekCalls: counting.filter(({ atMs }) => numberOf(atMs, WEEK_MS) === week).length,
      tokens: counting
        .filter(({ atMs }) => numberOf(atMs, periodDays * DAY_MS) === period)
        .reduce((sum, call) => sum + call.tokens, 0),
      inFlight: inFlight.length,
      reservedTokens: inFlight
        .filter(({ atMs }) => numberOf(atMs, periodDays * DAY_MS) === period)
        .reduce((sum, call) => sum + call.reservedTokens, 0),
    };
  }

  #active(nowMs: number): ReferenceSubscription | null {
    return (
      this.#subscriptions.find(
        ({ isCanceled, startsAtMs, endsAtMs }) => !isCanceled && startsAtMs <= nowMs && endsAtMs > nowMs,
      ) ?? null
    );
  }

  /** The active subscription, for the snapshot. */
  current(nowMs: number): ReferenceSubscription | null {
    return this.#active(nowMs);
  }

  #plan(id: string): PlanTerms {
    return this.#plans.find((plan) => plan.id === id)!;
  }
}
