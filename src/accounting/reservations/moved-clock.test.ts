import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { balanceCall, codingCall, MemoryAccount, planOf } from '../../../test/support/account-in-memory.ts';
import { byScope, propertyRuns } from '../../../test/support/scope.ts';
import { CLOCK_TOLERANCE_MS, isInFuture } from '../counts/counted-since.ts';
import { createLocalTime } from '../pricing/local-time.ts';
import { runningPeriods } from '../pricing/running-periods.ts';
import { rateName } from './account-state.ts';
import { countSpending } from './limits/daily-cap.ts';
import { usedNow } from './limits/key-day.ts';
import { minuteRates } from './limits/minute-rates.ts';
import { maximaOfNames } from './rate-defaults.ts';
import type { Refusal, ReservationRequest } from './reservation.ts';

/**
 * The database's clock moves by up to a year in both directions, and terms change, between calls. The reference model has a list of what
 * happened and when, and knows the terms in force only: a refused call has used what these allow since the beginning of the current period
 * by these terms, and is admitted when that period ends.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
const START_MS = Date.UTC(2026, 5, 15, 9, 30);
const ANCHOR_MS = START_MS - 500 * DAY_MS;
const ENDS_MS = START_MS + 5_000 * DAY_MS;
const T = CLOCK_TOLERANCE_MS;

const ZONES = ['UTC', 'Asia/Shanghai', 'America/Los_Angeles', 'Pacific/Kiritimati', 'Pacific/Pago_Pago'].map(
  createLocalTime,
);
/** One model with two ids: each is the other's alias. */
const NAMES = ['deep', 'deep-2'] as const;

const move = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 30_000 }) },
  { weight: 3, arbitrary: fc.integer({ min: -T, max: 2 * MINUTE_MS }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 9 }).map((hours) => hours * HOUR_MS) },
  { weight: 2, arbitrary: fc.integer({ min: -365, max: 365 }).map((days) => days * DAY_MS) },
);

const step = fc.oneof(
  {
    weight: 14,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      isOnPlan: fc.boolean(),
      tokens: fc.integer({ min: 1, max: 40 }),
      used: fc.integer({ min: 0, max: 60 }),
      endsAfter: fc.nat(3),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('move' as const), ms: move }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('plan' as const),
      terms: fc.record({
        fiveHourCalls: fc.integer({ min: 1, max: 6 }),
        weeklyCalls: fc.integer({ min: 1, max: 9 }),
        quotaTokens: fc.integer({ min: 50, max: 300 }),
        periodDays: fc.constantFrom(1, 3, 7, 30),
      }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('zone' as const), zone: fc.nat(ZONES.length - 1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rename' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('rates' as const),
      requestsMax: fc.option(fc.integer({ min: 1, max: 6 })),
      tokensMax: fc.option(fc.integer({ min: 20, max: 200 })),
      isOfModel: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('caps' as const),
      capNano: fc.bigInt(1n, 90n),
      keyNano: fc.bigInt(1n, 90n),
      keyCalls: fc.integer({ min: 1, max: 8 }),
    }),
  },
);

interface Event {
  readonly atMs: number;
  readonly amount: number;
}

/** The history of each limit. */
class History {
  readonly slots: (Event & { callId: string })[] = [];
  readonly planTokens: Event[] = [];
  readonly keyCalls: Event[] = [];
  readonly spent: Event[] = [];
  readonly requests: Event[] = [];
  readonly rateTokens: Event[] = [];

  /** The most that may count since an instant: after a clock went back a little, events count in what had begun. */
  static since(events: readonly Event[], beganAtMs: number): number {
    return events.filter(({ atMs }) => atMs >= beganAtMs - T).reduce((sum, { amount }) => sum + amount, 0);
  }

  /** The highest possible level of a bucket that drains by this much per minute: what the last events have left in it. */
  static level(events: readonly Event[], drainedPerMinute: number, nowMs: number): number {
    let most = 0;
    let sum = 0;
    for (const { atMs, amount } of events.toReversed()) {
      sum += amount;
      most = Math.max(most, sum - (drainedPerMinute * Math.max(nowMs - atMs, 0)) / MINUTE_MS);
    }
    return most;
  }
}

interface Terms {
  plan: { fiveHourCalls: number; weeklyCalls: number; quotaTokens: number; periodDays: number };
  capNano: bigint;
  keyNano: bigint;
  keyCalls: number;
}

const FIRST: Terms = {
  plan: { fiveHourCalls: 3, weeklyCalls: 5, quotaTokens: 100, periodDays: 30 },
  capNano: 60n,
  keyNano: 60n,
  keyCalls: 5,
};

describe('limits while the clock and the terms move', () => {
  it('refuse nobody for longer than the terms in force specify', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 80 }), (steps) => {
        const account = new MemoryAccount({ balanceNano: 1_000_000n });
        account.subscribe('plan', ANCHOR_MS, ENDS_MS);
        account.localTime = ZONES[0]!;
        const history = new History();
        const terms: Terms = structuredClone(FIRST);
        let [id, alias] = NAMES as readonly [string, string];
        let nowMs = START_MS;
        let calls = 0;
        const slowest = { requests: Number.POSITIVE_INFINITY, tokens: Number.POSITIVE_INFINITY };
        const running: { request: ReservationRequest; atMs: number; used: number; left: number }[] = [];

        function setTerms(): void {
          account.plans = [planOf({ ...terms.plan, models: new Set(NAMES) })];
          account.defaultDailyCapNano = terms.capNano;
          account.limitKey({ dailySpendCapNano: terms.keyNano, dailyCallsMax: terms.keyCalls });
        }
        setTerms();

        function maxima(): { requests: number; tokens: number } {
          const places = [
            account.state.rates.get(rateName({ keyId: '', model: '' })),
            maximaOfNames(
              account.state.rates.get(rateName({ keyId: '', model: id })),
              [account.state.rates.get(rateName({ keyId: '', model: alias }))].filter((rate) => rate !== undefined),
            ),
          ];
          const least = (maxes: readonly (number | null | undefined)[]) =>
            Math.min(...maxes.map((max) => max ?? Number.POSITIVE_INFINITY));
          return {
            requests: least(places.map((place) => place?.requestsMax)),
            tokens: least(places.map((place) => place?.tokensMax)),
          };
        }

        /** Checks a refusal by the terms in force: that enough was used, and when it ends at the latest. */
        function assertDue({ kind, retryAt, rate }: Refusal, request: ReservationRequest): void {
          const periods = runningPeriods(account.localTime, nowMs);
          const [runs, tolerated] = [nowMs, nowMs + T].map((atMs) => ({
            week: ANCHOR_MS + Math.floor((atMs - ANCHOR_MS) / WEEK_MS) * WEEK_MS,
            period:
              ANCHOR_MS +
              Math.floor((atMs - ANCHOR_MS) / (terms.plan.periodDays * DAY_MS)) * terms.plan.periodDays * DAY_MS,
          }));
          const inMs = retryAt === 'soon' || retryAt === null ? 0 : retryAt;
          const due = {
            packageFiveHourQuotaExhausted: () => [
              History.since(history.slots, nowMs - 5 * HOUR_MS + T) >= terms.plan.fiveHourCalls,
              nowMs + T + 5 * HOUR_MS,
            ],
            packageWeeklyQuotaExhausted: () => [
              History.since(history.slots, runs!.week) >= terms.plan.weeklyCalls,
              tolerated!.week + WEEK_MS,
            ],
            packageTokensExhausted: () => [
              History.since(history.planTokens, runs!.period) >= terms.plan.quotaTokens,
              tolerated!.period + terms.plan.periodDays * DAY_MS,
            ],
            packageConcurrencyLimited: () => [retryAt === 'soon' && running.length > 0, 0],
            keyCallsLimitReached: () => [
              History.since(history.keyCalls, periods.dayBeganAtMs) >= terms.keyCalls,
              periods.nextDayMs,
            ],
            keySpendLimitReached: () => [
              retryAt === 'soon'
                ? running.length > 0
                : History.since(history.spent, periods.dayBeganAtMs) >= terms.keyNano,
              periods.nextDayMs,
            ],
            balanceDailyLimitExceeded: () => [
              retryAt === 'soon'
                ? running.length > 0
                : History.since(history.spent, periods.dayBeganAtMs) >= terms.capNano,
              periods.nextDayMs,
            ],
            rateLimitExceeded: () => {
              const { of, max } = rate!;
              assert.ok(max >= maxima()[of], `${max} ${of}`);
              const events = of === 'requests' ? history.requests : history.rateTokens;
              const level = History.level(events, slowest[of], nowMs);
              return [level > max - 1, nowMs + T + Math.ceil((level / max) * MINUTE_MS) + 1];
            },
          } as Partial<Record<Refusal['kind'], () => [boolean, number]>>;
          const [isUsed, latestMs] = due[kind]!();
          assert.ok(isUsed, `${kind} at ${nowMs - START_MS}`);
          assert.ok(inMs <= latestMs, `${kind} until ${inMs - START_MS}, ${latestMs - START_MS} at the latest`);
          if (inMs === 0) return;
          // The call is admitted then, unless its day has begun already, slightly in the future.
          const { money, keys } = account.state;
          if (Math.max(money.dayBeganAtMs, ...[...keys.values()].map(({ dayBeganAtMs }) => dayBeganAtMs)) > nowMs)
            return;
          const call = { isOnPlan: request.plan !== null, isKeyLimited: request.isKeyLimited };
          if (kind === 'rateLimitExceeded') {
            // Nor if a bucket is too far in the future to count now, but is not then: a refusal resets no bucket.
            const counted = [...account.state.rates.values()].map(({ countedAtMs }) => countedAtMs);
            if (counted.some((atMs) => isInFuture(atMs, nowMs) && !isInFuture(atMs, inMs))) return;
            const asking = { ...request, isOnPlan: false, request };
            assert.equal(minuteRates.refuse(asking, account.state, account.contextAt(inMs)), null);
          } else if (inMs < ENDS_MS) assert.notEqual(account.look(call, inMs)?.kind, kind, `${kind} again at its end`);
        }

        function end(call: (typeof running)[number]): void {
          const { request, atMs, used } = call;
          const { callId } = request;
          const counts = used > 10;
          const isOnPlan = request.plan !== null;
          const keyChargeNano = isOnPlan || !counts ? 0n : BigInt(used);
          const taken = account.open.get(callId)!.rateTokens;
          if (isOnPlan && counts) history.planTokens.push({ atMs, amount: used });
          if (!isOnPlan && counts) history.spent.push({ atMs: nowMs, amount: used });
          if (taken !== null && used > taken) history.rateTokens.push({ atMs: nowMs, amount: used - taken });
          account.end(callId, { counts, tokens: counts ? used : 0, keyChargeNano, rateTokens: used }, nowMs);
          if (keyChargeNano > 0n) countSpending(account.state.money, keyChargeNano, account.contextAt(nowMs));
        }

        for (const taken of steps) {
          switch (taken.kind) {
            case 'call': {
              const { isOnPlan, tokens, used, endsAfter } = taken;
              const parts = { model: id, modelAliases: [alias], isKeyLimited: true, tokens };
              const callId = `call_${++calls}`;
              const request = isOnPlan
                ? codingCall(callId, { tokens }, parts)
                : balanceCall(callId, { ...parts, amountNano: BigInt(tokens) });
              const [admission] = account.admit([request], nowMs);
              if (!admission!.isAdmitted) {
                seen.set(admission!.refusal.kind, (seen.get(admission!.refusal.kind) ?? 0) + 1);
                assertDue(admission!.refusal, request);
                break;
              }
              running.push({ request, atMs: nowMs, used, left: endsAfter });
              if (isOnPlan) history.slots.push({ atMs: nowMs, amount: 1, callId });
              history.keyCalls.push({ atMs: nowMs, amount: 1 });
              history.requests.push({ atMs: nowMs, amount: 1 });
              history.rateTokens.push({ atMs: nowMs, amount: account.open.get(callId)!.rateTokens ?? 0 });
              break;
            }
            case 'move':
              nowMs = Math.min(Math.max(nowMs + taken.ms, ANCHOR_MS), START_MS + 1_000 * DAY_MS);
              break;
            case 'plan':
              terms.plan = taken.terms;
              setTerms();
              break;
            case 'zone':
              account.localTime = ZONES[taken.zone]!;
              break;
            case 'rename':
              [id, alias] = [alias, id];
              break;
            case 'rates':
              account.limitRate(
                { requestsMax: taken.requestsMax, tokensMax: taken.tokensMax },
                taken.isOfModel ? { model: id } : {},
              );
              slowest.requests = Math.min(slowest.requests, taken.requestsMax ?? Number.POSITIVE_INFINITY);
              slowest.tokens = Math.min(slowest.tokens, taken.tokensMax ?? Number.POSITIVE_INFINITY);
              break;
            case 'caps':
              Object.assign(terms, { capNano: taken.capNano, keyNano: taken.keyNano, keyCalls: taken.keyCalls });
              setTerms();
              break;
          }
          for (const call of running.splice(0)) {
            if (call.left > 0) running.push({ ...call, left: call.left - 1 });
            else end(call);
          }
          const { slots, weekCalls, periodTokens, periodReservedTokens, inFlight } = account.subscription;
          const key = [...account.state.keys.values()][0]!;
          const used = usedNow(key, runningPeriods(account.localTime, nowMs));
          assert.ok(used.spentNano <= used.weekSpentNano && used.spentNano <= used.monthSpentNano);
          const counts = [slots, weekCalls, periodTokens, periodReservedTokens, inFlight, key.calls, key.inFlight];
          assert.ok(
            counts.every((count) => count >= 0),
            counts.join(),
          );
        }
      }),
      // Fewer runs do not reach every limit.
      { numRuns: byScope({ full: 800, quick: 150 }) },
    );
    const expected = [
      'packageFiveHourQuotaExhausted',
      'packageWeeklyQuotaExhausted',
      'packageTokensExhausted',
      'keyCallsLimitReached',
      'keySpendLimitReached',
      'balanceDailyLimitExceeded',
      'rateLimitExceeded',
    ];
    assert.deepEqual(
      expected.filter((kind) => !seen.has(kind)),
      [],
      JSON.stringify([...seen]),
    );
  });

  it('give nothing twice if the clock repeatedly goes back by at most a minute', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ backMs: fc.nat(T), onMs: fc.nat(2 * MINUTE_MS), calls: fc.nat(4) }), {
          minLength: 5,
          maxLength: 60,
        }),
        (steps) => {
          const terms = { fiveHourCalls: 1_000, weeklyCalls: 4, quotaTokens: 50, periodDays: 1 };
          const account = new MemoryAccount({ balanceNano: 1_000_000n, plans: [planOf(terms)] });
          // Days of the key, and periods and weeks of the plan, begin a few minutes after the first call.
          const firstMs = Date.UTC(2026, 5, 15) - 4 * MINUTE_MS;
          account.subscribe('plan', firstMs + 3 * MINUTE_MS - WEEK_MS, firstMs + WEEK_MS);
          account.limitKey({ dailyCallsMax: 5 });
          let highestMs = firstMs;
          const admitted = { plan: 0, tokens: 0, key: 0 };
          for (const [i, { backMs, onMs, calls }] of steps.entries()) {
            const atMs = Math.max(highestMs - backMs, firstMs);
            for (const instant of [atMs, atMs + onMs]) {
              highestMs = Math.max(highestMs, instant);
              for (let n = 0; n < calls; n++) {
                const [planned, keyed] = [`plan_${i}_${n}_${instant}`, `key_${i}_${n}_${instant}`];
                if (account.admit([codingCall(planned, { tokens: 1 })], instant)[0]!.isAdmitted) {
                  admitted.plan++;
                  admitted.tokens += 20;
                  account.end(planned, { counts: true, tokens: 20, keyChargeNano: 0n, rateTokens: 0 }, instant);
                }
                const [byKey] = account.admit([balanceCall(keyed, { isKeyLimited: true })], instant);
                if (byKey!.isAdmitted) admitted.key++;
                account.end(keyed, { counts: true, tokens: 0, keyChargeNano: 0n, rateTokens: 0 }, instant);
              }
            }
          }
          const periods = (beganAtMs: number, lengthMs: number) =>
            highestMs < beganAtMs ? 1 : 2 + Math.floor((highestMs - beganAtMs) / lengthMs);
          assert.ok(admitted.plan <= 4 * periods(firstMs + 3 * MINUTE_MS, WEEK_MS));
          // The call that uses up the last tokens may exceed the quota.
          assert.ok(admitted.tokens <= 60 * periods(firstMs + 3 * MINUTE_MS, DAY_MS));
          assert.ok(admitted.key <= 5 * periods(firstMs + 4 * MINUTE_MS, DAY_MS));
        },
      ),
      { numRuns: propertyRuns(1_000) },
    );
  });

  it('keep the use of a renamed model', () => {
    const account = new MemoryAccount({ balanceNano: 100n });
    account.limitRate({ requestsMax: 2 }, { model: 'deep' });
    const ask = (model: string, modelAliases: string[], atMs: number) => {
      const [admission] = account.admit([balanceCall(`call_${model}_${atMs}`, { model, modelAliases })], atMs);
      return admission!.isAdmitted ? 'admitted' : admission!.refusal.retryAt;
    };
    assert.deepEqual([ask('deep', [], START_MS), ask('deep', [], START_MS)], ['admitted', 'admitted']);
    assert.equal(ask('deep-2', ['deeper', 'deep'], START_MS), START_MS + 30_000);
    assert.equal(ask('deep-2', ['deeper', 'deep'], START_MS + 30_000), 'admitted');
    assert.equal(ask('deep-2', ['deeper', 'deep'], START_MS + 30_000), START_MS + 60_000);
    // A limit of its own replaces it, and the use is kept.
    account.limitRate({ requestsMax: 3 }, { model: 'deep-2' });
    assert.equal(ask('deep-2', ['deeper', 'deep'], START_MS + 30_001), 'admitted');
    assert.equal(ask('other', [], START_MS), 'admitted');
  });
});
