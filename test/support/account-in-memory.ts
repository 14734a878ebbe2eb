import { NO_LIMITS } from '../../src/accounting/accounts/key-limit-store.ts';
import { KEY_LIMITS, type KeyLimits } from '../../src/accounting/accounts/key-limit-tables.ts';
import { CLOCK_TOLERANCE_MS } from '../../src/accounting/counts/counted-since.ts';
import type { PlanTerms } from '../../src/accounting/plans/plan.ts';
import { createLocalTime } from '../../src/accounting/pricing/local-time.ts';
import { runningPeriods } from '../../src/accounting/pricing/running-periods.ts';
import {
  type AccountState,
  type AdmissionContext,
  rateName,
  type Slot,
  type SubscriptionState,
} from '../../src/accounting/reservations/account-state.ts';
import { decideAdmissions, decideLooks } from '../../src/accounting/reservations/admit.ts';
import type { AskingCall } from '../../src/accounting/reservations/limits/limit.ts';
import type { RateDefaults, RateMaxima } from '../../src/accounting/reservations/rate-defaults.ts';
import { freeReservation } from '../../src/accounting/reservations/release.ts';
import type { Admission, CallUse, Refusal, ReservationRequest } from '../../src/accounting/reservations/reservation.ts';
import {
  BALANCES,
  RATE_LIMITS,
  type Reservation,
  SUBSCRIPTIONS,
  type SubscriptionTerms,
} from '../../src/accounting/reservations/tables.ts';
import { unusedCounts } from './unused-counts.ts';

/**
 * An account without a database, for unit tests of decisions. It does in memory what `account-store.ts` does with rows. Days are days in
 * UTC unless a test sets another zone.
 */

const FIVE_HOURS_MS = 5 * 3_600_000;
const SPARE_LAPSED_SLOTS = 64;

/** Shared by all accounts, because it caches time zone data. */
const UTC = createLocalTime('UTC');

export const ACCOUNT = 'acct_test';
export const KEY = 'key_test';

/** Terms without any limit except those that the test sets. */
export function planOf(terms: Partial<PlanTerms> = {}): PlanTerms {
  return {
    id: 'plan',
    name: 'Plan',
    fiveHourCalls: 1_000,
    weeklyCalls: 1_000,
    concurrency: 1_000,
    quotaTokens: 1_000_000,
    periodDays: 30,
    sale: null,
    models: new Set(['test']),
    inputBytesMax: 100,
    outputTokensMax: 50,
    queue: { length: 0, waitMs: 0 },
    ...terms,
  };
}

export function balanceCall(callId: string, parts: Partial<ReservationRequest> = {}): ReservationRequest {
  return {
    accountId: ACCOUNT,
    callId,
    keyId: KEY,
    model: 'test',
    modelAliases: [],
    isKeyLimited: false,
    memberId: null,
    budgetIds: null,
    isRateLimited: false,
    groupLimits: null,
    groupFactorBasisPoints: 10_000,
    tokens: 1,
    amountNano: 1n,
    sides: null,
    plan: null,
    facts: '[]',
    ...parts,
  };
}

export function codingCall(
  callId: string,
  plan: Partial<NonNullable<ReservationRequest['plan']>> = {},
  parts: Partial<ReservationRequest> = {},
): ReservationRequest {
  const whole = { inputBytes: 1, outputTokensRequested: 0, tokens: 1, innerModels: [], ...plan };
  return balanceCall(callId, { amountNano: null, plan: whole, ...parts });
}

export function unusedSubscription(terms: Partial<SubscriptionTerms> = {}): SubscriptionState {
  return {
    accountId: ACCOUNT,
    id: 'sub',
    planId: 'plan',
    startsAtMs: 0,
    endsAtMs: 1_000,
    ...terms,
    ...unusedCounts(SUBSCRIPTIONS),
    weekBeganAtMs: terms.startsAtMs ?? 0,
    periodBeganAtMs: terms.startsAtMs ?? 0,
    oldestSlots: [],
    oldestSlotsMax: 1,
    newSlots: [],
    deletedSlots: [],
  };
}

export interface MemorySubscription {
  readonly id: string;
  readonly planId: string;
  readonly startsAtMs: number;
  endsAtMs: number;
  isCanceled: boolean;
}

export class MemoryAccount {
  readonly state: AccountState;
  readonly open = new Map<string, Reservation>();
  plans: readonly PlanTerms[];
  defaultDailyCapNano: bigint | null = null;
  rateDefaults: RateDefaults | null = null;
  localTime = UTC;
  readonly #subscriptions: MemorySubscription[] = [];
  readonly #slots = new Map<string, Slot[]>();

  constructor({
    balanceNano = 0n,
    dailyCapNano = null,
    ownDailyCapNano = null,
    priceFactorBasisPoints = 10_000,
    plans = [],
  }: {
    balanceNano?: bigint;
    dailyCapNano?: bigint | null;
    ownDailyCapNano?: bigint | null;
    priceFactorBasisPoints?: number;
    plans?: readonly PlanTerms[];
  }) {
    this.plans = plans;
    this.state = {
      accountId: ACCOUNT,
      money: {
        accountId: ACCOUNT,
        dailyCapNano,
        ownDailyCapNano,
        priceFactorBasisPoints,
        ...unusedCounts(BALANCES),
        balanceNano,
      },
      subscriptions: new Map(),
      currentSubscriptionId: null,
      activePlan: null,
      keys: new Map(),
      rates: new Map(),
    };
  }

  /** Sets limits of a key. Usage counts from when the first limit is set. */
  limitKey(limits: Partial<KeyLimits>, keyId = KEY): void {
    const key = { accountId: ACCOUNT, keyId, ...NO_LIMITS, ...unusedCounts(KEY_LIMITS) };
    this.state.keys.set(keyId, { ...key, ...this.state.keys.get(keyId), ...limits });
  }

  /** Sets limits per minute. Without a key they apply to the account, without a model to all models. */
  limitRate(limits: Partial<RateMaxima>, { keyId = '', model = '' } = {}): void {
    const place = { accountId: ACCOUNT, keyId, model };
    const unused = { requestsMax: null, tokensMax: null, ...unusedCounts(RATE_LIMITS), isStored: true };
    const name = rateName(place);
    this.state.rates.set(name, { ...place, ...unused, ...this.state.rates.get(name), ...limits });
  }

  subscribe(planId: string, startsAtMs: number, endsAtMs: number): MemorySubscription {
    const subscription = { id: `sub_${this.#subscriptions.length}`, planId, startsAtMs, endsAtMs, isCanceled: false };
    this.#subscriptions.push(subscription);
    this.#slots.set(subscription.id, []);
    this.state.subscriptions.set(
      subscription.id,
      unusedSubscription({ id: subscription.id, planId, startsAtMs, endsAtMs }),
    );
    return subscription;
  }

  /** The subscription that began last, active or not. */
  get subscription(): SubscriptionState {
    return this.state.subscriptions.get(this.#subscriptions.at(-1)!.id)!;
  }

  admit(requests: readonly ReservationRequest[], nowMs: number): readonly Admission[] {
    this.#read(nowMs, requests.filter(({ plan }) => plan !== null).length);
    const accounts = new Map([[ACCOUNT, this.state]]);
    const { admissions, reservations } = decideAdmissions(requests, accounts, this.contextAt(nowMs));
    for (const reservation of reservations) this.open.set(reservation.callId, reservation);
    this.#keep();
    return admissions;
  }

  look(call: Partial<Omit<AskingCall, 'request'>>, nowMs: number): Refusal | null {
    this.#read(nowMs, 1);
    const owners = { accountId: ACCOUNT, keyId: KEY, isKeyLimited: false, memberId: null, budgetIds: null };
    const asking = { ...owners, groupLimits: null, isOnPlan: false, ...call };
    // A precheck writes nothing.
    const accounts = new Map([[asking.accountId, structuredClone(this.state)]]);
    return decideLooks([asking], accounts, this.contextAt(nowMs))[0]!;
  }

  end(callId: string, use: CallUse, nowMs: number): void {
    const reservation = this.open.get(callId);
    if (reservation === undefined) return;
    this.open.delete(callId);
    const slots = this.#slots.get(reservation.subscriptionId ?? '') ?? [];
    const hasSlot = slots.some((slot) => slot.callId === callId);
    freeReservation({ ...reservation, hasSlot }, use, this.state, runningPeriods(this.localTime, nowMs));
    this.#keep();
  }

  contextAt(nowMs: number): AdmissionContext {
    return {
      ...runningPeriods(this.localTime, nowMs),
      defaultDailyCapNano: this.defaultDailyCapNano,
      rateDefaults: this.rateDefaults,
      plans: new Map(this.plans.map((plan) => [plan.id, plan])),
      nodeId: 'node_test',
    };
  }

  /** Returns subscriptions and slots as the statements of an admission read them. */
  #read(nowMs: number, callsMax: number): void {
    const begun = this.#subscriptions.filter(({ isCanceled, startsAtMs }) => !isCanceled && startsAtMs <= nowMs);
    const current = begun.toSorted((a, b) => b.endsAtMs - a.endsAtMs)[0];
    this.state.currentSubscriptionId = current?.id ?? null;
    for (const { id, endsAtMs } of this.#subscriptions) {
      const was = this.state.subscriptions.get(id)!;
      const limit = this.plans.find((plan) => plan.id === was.planId)?.fiveHourCalls;
      let oldestSlots: Slot[] = [];
      let readMax = 1;
      if (id === current?.id && endsAtMs > nowMs && limit !== undefined) {
        readMax = callsMax + SPARE_LAPSED_SLOTS + Math.max(was.slots - limit, 0);
        const aheadMs = nowMs + CLOCK_TOLERANCE_MS;
        const untilMs = was.slots + callsMax > limit ? aheadMs : nowMs - FIVE_HOURS_MS;
        const inOrder = this.#slots.get(id)!.toSorted((a, b) => a.takenAtMs - b.takenAtMs);
        oldestSlots = [
          ...inOrder.filter(({ takenAtMs }) => takenAtMs <= untilMs).slice(0, readMax),
          ...inOrder.filter(({ takenAtMs }) => takenAtMs > aheadMs).slice(0, readMax),
        ];
      }
      const oldestSlotsMax = oldestSlots.length === 0 ? 1 : readMax;
      this.state.subscriptions.set(id, {
        ...was,
        endsAtMs,
        oldestSlots,
        oldestSlotsMax,
        newSlots: [],
        deletedSlots: [],
      });
    }
  }

  #keep(): void {
    this.state.activePlan = null;
    for (const [id, subscription] of this.state.subscriptions) {
      const { newSlots, deletedSlots } = subscription;
      const kept = this.#slots.get(id)!.filter(({ callId }) => !deletedSlots.includes(callId));
      this.#slots.set(id, [...kept, ...newSlots]);
      this.state.subscriptions.set(id, { ...subscription, oldestSlots: [], newSlots: [], deletedSlots: [] });
    }
  }
}

export function dayOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}
