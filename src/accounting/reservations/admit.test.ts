import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type KeyVerdict, ReferenceKey } from '../../../test/key-limits/reference.ts';
import { ReferenceAccount, type ReferenceSubscription, type ReferenceVerdict } from '../../../test/plans/reference.ts';
import { balanceCall, codingCall, dayOf, MemoryAccount, planOf } from '../../../test/support/account-in-memory.ts';
import { byScope, propertyRuns } from '../../../test/support/scope.ts';
import type { KeyLimitChange } from '../accounts/key-limit-store.ts';
import { decideAdmissions, decideLooks, UNKNOWN_ACCOUNT } from './admit.ts';
import { NO_USE } from './release.ts';
import { type Admission, RESERVED_NANO_MAX, type Refusal, type ReservationRequest } from './reservation.ts';

const START_MS = Date.UTC(2026, 2, 27, 22);
const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

const kindOf = (admission: Admission): string => (admission.isAdmitted ? 'admitted' : admission.refusal.kind);

/** An account with nothing left of any limit, and steps that lift the limits in their order of precedence. */
function exhausted(): { account: MemoryAccount; lifts: readonly (readonly [Refusal['kind'], () => void])[] } {
  const terms = { fiveHourCalls: 2, weeklyCalls: 2, quotaTokens: 10, concurrency: 1, models: new Set(['test']) };
  let plan = planOf(terms);
  const account = new MemoryAccount({ balanceNano: 5n, dailyCapNano: 0n, plans: [plan] });
  const subscription = account.subscribe('plan', START_MS, START_MS + 10 * DAY_MS);
  account.admit([codingCall('first', { tokens: 5 })], START_MS);
  account.end('first', { counts: true, tokens: 20, keyChargeNano: 0n, rateTokens: 20 }, START_MS);
  account.plans = [planOf({ quotaTokens: 1_000 })];
  account.admit([codingCall('running', { tokens: 980 }, { isKeyLimited: true })], START_MS);
  account.limitKey({ dailySpendCapNano: 0n, dailyCallsMax: 0, concurrencyMax: 0 });
  Object.assign(account.state.money, { balanceNano: 0n });
  subscription.endsAtMs = START_MS - 1;
  const set = (parts: Parameters<typeof planOf>[0]) => () => {
    plan = planOf({ ...plan, ...parts });
    account.plans = [plan];
  };
  account.plans = [planOf({ ...terms, models: new Set(['other']), inputBytesMax: 0, outputTokensMax: 0 })];
  plan = account.plans[0]!;
  return {
    account,
    lifts: [
      ['keyCallsLimitReached', () => account.limitKey({ dailyCallsMax: null })],
      ['keyConcurrencyLimited', () => account.limitKey({ concurrencyMax: null })],
      ['packageExpired', () => Object.assign(subscription, { endsAtMs: START_MS + 10 * DAY_MS })],
      ['modelNotInPackage', set({ models: new Set(['test']) })],
      ['packageInputTooLarge', set({ inputBytesMax: 100 })],
      ['packageOutputLimitExceeded', set({ outputTokensMax: 50 })],
      ['packageFiveHourQuotaExhausted', set({ fiveHourCalls: 3 })],
      ['packageWeeklyQuotaExhausted', set({ weeklyCalls: 3 })],
      ['packageTokensExhausted', set({ quotaTokens: 1_000 })],
      // Once because of the tokens that calls in flight have reserved, and once because of their number.
      ['packageConcurrencyLimited', set({ quotaTokens: 1_001 })],
      ['packageConcurrencyLimited', set({ concurrency: 2 })],
    ],
  };
}

describe('admissions', () => {
  it('name the first exhausted limit in the order of precedence', () => {
    const { account, lifts } = exhausted();
    const call = codingCall('call', { outputTokensRequested: 1 }, { keyId: 'key_test', isKeyLimited: true });
    for (const [kind, lift] of lifts) {
      assert.equal(kindOf(account.admit([call], START_MS)[0]!), kind);
      lift();
    }
    assert.equal(kindOf(account.admit([call], START_MS)[0]!), 'admitted');
  });

  it('name limits of the key before those of the account, and an empty balance before the daily cap', () => {
    const account = new MemoryAccount({ balanceNano: 0n, dailyCapNano: 0n });
    const budgets = { totalSpendCapNano: 0n, monthlySpendCapNano: 0n, weeklySpendCapNano: 0n, dailySpendCapNano: 0n };
    account.limitKey({ ...budgets, dailyCallsMax: 0, concurrencyMax: 0 });
    account.limitRate({ requestsMax: 1 });
    account.state.rates.values().next().value!.requestsUsed = 60_000;
    account.state.rates.values().next().value!.countedAtMs = START_MS;
    const call = balanceCall('call', { isKeyLimited: true });
    for (const [kind, lift] of [
      ['keyTotalSpendLimitReached', () => account.limitKey({ totalSpendCapNano: null })],
      ['keyMonthlySpendLimitReached', () => account.limitKey({ monthlySpendCapNano: null })],
      ['keyWeeklySpendLimitReached', () => account.limitKey({ weeklySpendCapNano: null })],
      ['keySpendLimitReached', () => account.limitKey({ dailySpendCapNano: null })],
      ['keyCallsLimitReached', () => account.limitKey({ dailyCallsMax: null })],
      ['keyConcurrencyLimited', () => account.limitKey({ concurrencyMax: null })],
      ['insufficientBalance', () => Object.assign(account.state.money, { balanceNano: 1n })],
      ['balanceDailyLimitExceeded', () => Object.assign(account.state.money, { dailyCapNano: null })],
      ['rateLimitExceeded', () => account.limitRate({ requestsMax: 2 })],
      ['admitted', () => undefined],
    ] as const) {
      assert.equal(kindOf(account.admit([call], START_MS)[0]!), kind);
      lift();
    }
  });

  it('change nothing if any limit refuses the call', () => {
    const { account, lifts } = exhausted();
    const call = codingCall('call', { outputTokensRequested: 1 }, { isKeyLimited: true });
    for (const [kind, lift] of lifts) {
      const before = structuredClone(account.state);
      assert.equal(kindOf(account.admit([call, call, call], START_MS)[2]!), kind);
      // Each admission reads the current subscription again.
      before.currentSubscriptionId = account.state.currentSubscriptionId;
      assert.deepEqual(withoutReads(account.state), withoutReads(before), kind);
      lift();
    }
  });

  it('are refused for an unknown account, and not for others in the batch', () => {
    const account = new MemoryAccount({ balanceNano: 1n });
    const context = account.contextAt(START_MS);
    const requests = [balanceCall('a', { accountId: 'acct_gone' }), balanceCall('b')];
    const { admissions, reservations } = decideAdmissions(requests, new Map([['acct_test', account.state]]), context);
    assert.deepEqual(admissions, [
      { isAdmitted: false, refusal: UNKNOWN_ACCOUNT, planId: null },
      {
        isAdmitted: true,
        remaining: { availableNano: 0n },
        rates: null,
        budgets: [],
        priceFactorBasisPoints: 10_000,
        side: 0,
      },
    ]);
    assert.deepEqual(
      reservations.map(({ callId }) => callId),
      ['b'],
    );
    const look = {
      accountId: 'acct_gone',
      keyId: 'k',
      isKeyLimited: false,
      memberId: null,
      budgetIds: null,
      groupLimits: null,
      isOnPlan: false,
    };
    assert.deepEqual(decideLooks([look], new Map(), context), [UNKNOWN_ACCOUNT]);
  });

  it('return the plan of the account if they are refused, which names its queue', () => {
    const account = new MemoryAccount({ plans: [planOf({ concurrency: 0 })] });
    assert.equal((account.admit([codingCall('a')], START_MS)[0] as { planId: unknown }).planId, null);
    account.subscribe('plan', START_MS, START_MS + DAY_MS);
    assert.equal((account.admit([codingCall('a')], START_MS)[0] as { planId: unknown }).planId, 'plan');
  });
});

describe('the price factor of an account', () => {
  const amountOf = (account: MemoryAccount, callId: string) => account.open.get(callId)!.amountNano;

  it('applies to the reservations of its calls on balance and key, rounded half up', () => {
    const account = new MemoryAccount({ balanceNano: 1_000n, priceFactorBasisPoints: 8_500 });
    account.limitKey({ dailySpendCapNano: 1_000n });
    const [admission] = account.admit([balanceCall('a', { amountNano: 10n, isKeyLimited: true })], START_MS);
    assert.deepEqual(admission, {
      isAdmitted: true,
      remaining: { availableNano: 991n },
      rates: null,
      budgets: [{ isOfMember: false, isOfModel: false, period: 'day', capNano: 1_000n, spentNano: 0n }],
      priceFactorBasisPoints: 8_500,
      side: 0,
    });
    assert.deepEqual([amountOf(account, 'a'), account.open.get('a')!.keyAmountNano], [9n, 9n]);
  });

  it('applies as of each admission', () => {
    const account = new MemoryAccount({ balanceNano: 1_000n, priceFactorBasisPoints: 5_000 });
    account.admit([balanceCall('a', { amountNano: 10n }), balanceCall('b', { amountNano: 7n })], START_MS);
    Object.assign(account.state.money, { priceFactorBasisPoints: 20_000 });
    account.admit([balanceCall('c', { amountNano: 10n })], START_MS);
    assert.deepEqual(
      ['a', 'b', 'c'].map((callId) => amountOf(account, callId)),
      [5n, 4n, 20n],
    );
  });

  it('of 0 reserves nothing, but calls still need a balance above zero and an unused cap', () => {
    const factor = { priceFactorBasisPoints: 0 };
    const call = balanceCall('a', { amountNano: 10n });
    const verdictIn = (account: MemoryAccount) => kindOf(account.admit([call], START_MS)[0]!);
    assert.equal(verdictIn(new MemoryAccount({ ...factor, balanceNano: 0n })), 'insufficientBalance');
    assert.equal(verdictIn(new MemoryAccount({ ...factor, balanceNano: -5n })), 'insufficientBalance');
    assert.equal(
      verdictIn(new MemoryAccount({ ...factor, balanceNano: 1n, dailyCapNano: 0n })),
      'balanceDailyLimitExceeded',
    );
    const account = new MemoryAccount({ ...factor, balanceNano: 1n });
    assert.equal(verdictIn(account), 'admitted');
    assert.equal(amountOf(account, 'a'), 0n);
  });

  it('applies to the side of a switch of prices on which the clock of the batch is', () => {
    const sides = [
      { fromMs: Number.NEGATIVE_INFINITY, amountNano: 10n, groupFactorBasisPoints: 8_000 },
      { fromMs: START_MS, amountNano: 20n, groupFactorBasisPoints: 8_000 },
      { fromMs: START_MS + 5, amountNano: 30n, groupFactorBasisPoints: 8_000 },
    ];
    for (const [atMs, side, amountNano] of [
      [START_MS - 1, 0, 5n],
      [START_MS, 1, 10n],
      [START_MS + 4, 1, 10n],
      [START_MS + 5, 2, 15n],
    ] as const) {
      const account = new MemoryAccount({ balanceNano: 1_000n, priceFactorBasisPoints: 5_000 });
      const [admission] = account.admit([balanceCall('a', { amountNano: 99n, sides })], atMs);
      assert.equal(admission!.isAdmitted && admission!.side, side);
      assert.equal(amountOf(account, 'a'), amountNano);
    }
  });

  it('is that of the group if the account has none of its own, on each side of a switch', () => {
    const sides = [
      { fromMs: Number.NEGATIVE_INFINITY, amountNano: 100n, groupFactorBasisPoints: 8_000 },
      { fromMs: START_MS, amountNano: 100n, groupFactorBasisPoints: 10_000 },
    ];
    for (const [own, parts, atMs, basisPoints] of [
      [10_000, { groupFactorBasisPoints: 8_000 }, START_MS, 8_000],
      [5_000, { groupFactorBasisPoints: 8_000 }, START_MS, 5_000],
      [10_000, { sides }, START_MS - 1, 8_000],
      [10_000, { sides }, START_MS, 10_000],
      [5_000, { sides }, START_MS - 1, 5_000],
    ] as const) {
      const account = new MemoryAccount({ balanceNano: 1_000n, priceFactorBasisPoints: own });
      const [admission] = account.admit([balanceCall('a', { amountNano: 100n, ...parts })], atMs);
      assert.equal(admission!.isAdmitted && admission!.priceFactorBasisPoints, basisPoints);
      assert.equal(amountOf(account, 'a'), BigInt(basisPoints) / 100n);
    }
  });

  it('does not raise a reservation above the maximum', () => {
    const account = new MemoryAccount({ balanceNano: 1n, priceFactorBasisPoints: 100_000 });
    account.admit([balanceCall('a', { amountNano: RESERVED_NANO_MAX })], START_MS);
    assert.equal(amountOf(account, 'a'), RESERVED_NANO_MAX);
  });
});

describe('the limits of a group', () => {
  const groupLimits = { requestsMax: 1, tokensMax: null, dailyCapNano: 5n };

  it('replace the daily cap of the configuration, also in a precheck, but not a cap of the account', () => {
    for (const [groupCapNano, accountCapNano, kind] of [
      [5n, null, 'balanceDailyLimitExceeded'],
      [50n, null, null],
      [null, null, 'balanceDailyLimitExceeded'],
      [5n, 50n, null],
    ] as const) {
      const account = new MemoryAccount({ balanceNano: 1_000n, dailyCapNano: accountCapNano });
      account.defaultDailyCapNano = 9n;
      const own = { groupLimits: { ...groupLimits, requestsMax: null, dailyCapNano: groupCapNano } };
      const { dayBeganAtMs } = account.contextAt(START_MS);
      Object.assign(account.state.money, { spentNano: 10n, dayBeganAtMs });
      assert.equal(account.look(own, START_MS)?.kind ?? null, kind);
      const [next] = account.admit([balanceCall('a', own)], START_MS);
      assert.equal(kindOf(next!), kind ?? 'admitted');
    }
  });

  it('replace the limits per minute of the configuration, but not those of the account', () => {
    for (const [usualMax, ownMax, admitted] of [
      [null, null, 1],
      [3, null, 1],
      [null, 2, 2],
    ] as const) {
      const account = new MemoryAccount({ balanceNano: 1_000n });
      const all = { requestsMax: usualMax, tokensMax: null };
      account.rateDefaults = usualMax === null ? null : { all, models: new Map() };
      if (ownMax !== null) account.limitRate({ requestsMax: ownMax });
      const calls = ['a', 'b', 'c'].map((id) =>
        balanceCall(id, { groupLimits: { ...groupLimits, dailyCapNano: null } }),
      );
      const results = account.admit(calls, START_MS).map(kindOf);
      assert.deepEqual(
        results,
        results.map((_, i) => (i < admitted ? 'admitted' : 'rateLimitExceeded')),
      );
    }
  });
});

describe('a precheck', () => {
  it('counts expired slots once for concurrent prechecks of an account', () => {
    const account = new MemoryAccount({ plans: [planOf({ fiveHourCalls: 2 })] });
    const subscription = account.subscribe('plan', START_MS, START_MS + DAY_MS);
    account.admit([codingCall('first')], START_MS);
    const state = structuredClone(account.state);
    const slots = [{ callId: 'lapsed', takenAtMs: START_MS - DAY_MS }];
    Object.assign(state.subscriptions.get(subscription.id)!, { slots: 3, oldestSlots: slots });
    const look = {
      accountId: state.accountId,
      keyId: 'key',
      isKeyLimited: false,
      memberId: null,
      budgetIds: null,
      groupLimits: null,
      isOnPlan: true,
    };
    const refusals = decideLooks(
      [look, look, look],
      new Map([[state.accountId, state]]),
      account.contextAt(START_MS + DAY_MS / 2),
    );
    assert.deepEqual(
      refusals.map((refusal) => refusal?.kind),
      Array(3).fill('packageFiveHourQuotaExhausted'),
    );
  });

  it('decides like an admission, except for limits that depend on the body or that calls in flight fill', () => {
    const { account, lifts } = exhausted();
    const seen = lifts.map(([, lift]) => {
      const refusal = account.look({ isKeyLimited: true, isOnPlan: true }, START_MS);
      lift();
      return refusal?.kind ?? null;
    });
    assert.deepEqual(seen, [
      'keyCallsLimitReached',
      // The key's concurrency is not checked: the next limit is named.
      'packageExpired',
      'packageExpired',
      // Limits that depend on the body are unknown.
      ...Array(4).fill('packageFiveHourQuotaExhausted'),
      'packageWeeklyQuotaExhausted',
      'packageTokensExhausted',
      null,
      null,
    ]);
  });
});

const limit = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | null | undefined> =>
  fc.oneof({ weight: 3, arbitrary: value }, fc.constant(null), fc.constant(undefined));

const change: fc.Arbitrary<KeyLimitChange> = fc.record({
  dailySpendCapNano: limit(fc.bigInt(0n, 60n)),
  weeklySpendCapNano: limit(fc.bigInt(0n, 80n)),
  monthlySpendCapNano: limit(fc.bigInt(0n, 80n)),
  totalSpendCapNano: limit(fc.bigInt(0n, 120n)),
  dailyCallsMax: limit(fc.nat(15)),
  concurrencyMax: limit(fc.nat(6)),
});

const askedCall = fc.record({
  isOnPlan: fc.constantFrom(true, true, false),
  isKeyLimited: fc.constantFrom(false, false, true),
  amountNano: fc.bigInt(0n, 15n),
  model: fc.constantFrom('a', 'a', 'a', 'a', 'a', 'a', 'b', 'c'),
  inputBytes: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 100, 101),
  output: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 50, 51),
  tokens: fc.constantFrom(0, 1, 1, 1, 1, 90),
});

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('calls' as const),
      calls: fc.array(askedCall, { minLength: 1, maxLength: 7 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      which: fc.nat(20),
      counts: fc.boolean(),
      tokens: fc.constantFrom(0, 10, 90, 400),
      chargeNano: fc.bigInt(0n, 20n),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      minutes: fc.constantFrom(1, 119, 120, 150, 299, 300, 300, 301, 301, 1_440, 4_320, 10_080),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('grant' as const), planId: fc.constantFrom('small', 'wide') }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('limit' as const), change }) },
);

type Step = typeof step extends fc.Arbitrary<infer Of> ? Of : never;

const PLANS = [
  planOf({ id: 'small', fiveHourCalls: 4, weeklyCalls: 6, concurrency: 3, quotaTokens: 800, periodDays: 10 }),
  planOf({ id: 'wide', fiveHourCalls: 9, weeklyCalls: 4, concurrency: 9, quotaTokens: 400, periodDays: 3 }),
].map((plan) => ({ ...plan, models: new Set(['a', 'b']) }));

/** The simplest model of the balance and the daily cap. */
class ReferenceMoney {
  balanceNano: bigint;
  readonly capNano: bigint | null;
  readonly #spent = new Map<string, bigint>();
  readonly open = new Map<string, bigint>();

  constructor(balanceNano: bigint, capNano: bigint | null) {
    this.balanceNano = balanceNano;
    this.capNano = capNano;
  }

  get reservedNano(): bigint {
    return [...this.open.values()].reduce((sum, amount) => sum + amount, 0n);
  }

  /** Whether only reservations keep a call out. */
  isOnlyReserved(kind: KeyVerdict, today: string): boolean {
    if (kind === 'insufficientBalance') return this.balanceNano > 0n;
    return kind === 'balanceDailyLimitExceeded' && (this.#spent.get(today) ?? 0n) < this.capNano!;
  }

  admit(callId: string, amountNano: bigint, today: string): KeyVerdict {
    if (this.balanceNano <= this.reservedNano) return 'insufficientBalance';
    const usedNano = (this.#spent.get(today) ?? 0n) + this.reservedNano;
    if (this.capNano !== null && usedNano >= this.capNano) return 'balanceDailyLimitExceeded';
    this.open.set(callId, amountNano);
    return 'admitted';
  }
}

describe('decisions and their reference models', () => {
  it('agree on admissions, refusals, times and counts', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(
        fc.record({ balanceNano: fc.bigInt(-5n, 200n), dailyCapNano: fc.option(fc.bigInt(0n, 100n)), change }),
        fc.array(step, { minLength: 20, maxLength: 60 }),
        ({ balanceNano, dailyCapNano, change: first }, steps) => {
          const account = new MemoryAccount({ balanceNano, dailyCapNano, plans: PLANS });
          const plan = new ReferenceAccount(PLANS);
          const key = new ReferenceKey();
          const money = new ReferenceMoney(balanceNano, dailyCapNano);
          const granted: { real: ReturnType<MemoryAccount['subscribe']>; reference: ReferenceSubscription }[] = [];
          const running: ReservationRequest[] = [];
          let nowMs = START_MS;
          let calls = 0;
          const opening: readonly Step[] = [
            { kind: 'limit', change: first },
            { kind: 'grant', planId: 'small' },
          ];

          /** The key is checked first, and counts only calls that its account admits, too. */
          function expected(request: ReservationRequest): ReferenceVerdict {
            const today = dayOf(nowMs);
            const limited = request.isKeyLimited ? key.refusal(request, today) : null;
            if (limited !== null) return { kind: limited, retryAt: retryAtOf(limited), callsLeft: null };
            const { callId, model, amountNano } = request;
            let verdict: ReferenceVerdict;
            if (request.plan !== null) verdict = plan.admit({ callId, model, ...request.plan }, nowMs);
            else {
              const kind = money.admit(callId, amountNano!, today);
              verdict = { kind, retryAt: retryAtOf(kind), callsLeft: null };
            }
            if (verdict.kind === 'admitted' && request.isKeyLimited) key.admit(request, today);
            return verdict;
          }
          function retryAtOf(kind: KeyVerdict): Refusal['retryAt'] {
            const today = dayOf(nowMs);
            if (kind === 'keyConcurrencyLimited') return 'soon';
            if (money.isOnlyReserved(kind, today) || key.isOnlyReserved(kind, today)) return 'soon';
            if (kind === 'keyWeeklySpendLimitReached') return account.contextAt(nowMs).nextWeekMs;
            if (kind === 'keyMonthlySpendLimitReached') return account.contextAt(nowMs).nextMonthMs;
            return kind === 'admitted' || kind === 'insufficientBalance' || kind === 'keyTotalSpendLimitReached'
              ? null
              : (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
          }

          for (const [index, taken] of [...opening, ...steps].entries()) {
            switch (taken.kind) {
              case 'calls': {
                const requests = taken.calls.map(({ isOnPlan, isKeyLimited, model, amountNano, ...asked }) => {
                  const { inputBytes, output: outputTokensRequested, tokens } = asked;
                  const parts = { model, isKeyLimited };
                  const callId = `call_${++calls}`;
                  return isOnPlan
                    ? codingCall(callId, { inputBytes, outputTokensRequested, tokens }, parts)
                    : balanceCall(callId, { ...parts, amountNano });
                });
                const admissions = account.admit(requests, nowMs);
                for (const [i, request] of requests.entries()) {
                  const verdict = expected(request);
                  assert.deepEqual(inReferenceWords(admissions[i]!), verdict, `${request.callId} of step ${index}`);
                  seen.set(verdict.kind, (seen.get(verdict.kind) ?? 0) + 1);
                  if (admissions[i]!.isAdmitted) running.push(request);
                  const left = money.balanceNano - money.reservedNano;
                  if (admissions[i]!.isAdmitted && request.plan === null) {
                    assert.deepEqual(admissions[i]!.remaining, { availableNano: left });
                  }
                }
                break;
              }
              case 'end': {
                const [request] = running.splice(taken.which % Math.max(running.length, 1), 1);
                if (request === undefined) break;
                const { callId } = request;
                const { counts } = taken;
                const tokens = counts ? taken.tokens : 0;
                const keyChargeNano = counts ? taken.chargeNano : 0n;
                account.end(callId, { counts, tokens, keyChargeNano, rateTokens: 0 }, nowMs);
                money.open.delete(callId);
                if (request.plan !== null) plan.end(callId, counts, tokens);
                if (request.isKeyLimited) key.end({ callId, counts, chargeNano: keyChargeNano }, dayOf(nowMs));
                break;
              }
              case 'wait':
                nowMs += taken.minutes * MINUTE_MS;
                break;
              case 'grant': {
                const reference = plan.grant(taken.planId, nowMs);
                if (reference === null) break;
                granted.push({ reference, real: account.subscribe(taken.planId, nowMs, reference.endsAtMs) });
                break;
              }
              case 'cancel': {
                const last = granted.at(-1)!;
                last.reference.isCanceled = true;
                last.real.isCanceled = true;
                break;
              }
              case 'limit':
                key.change(taken.change);
                account.limitKey(key.limits);
                break;
            }
            assert.equal(account.state.money.reservedNano, money.reservedNano);
            const used = key.use();
            const counted = account.state.keys.get('key_test')!;
            assert.deepEqual(
              Object.fromEntries(Object.keys(used).map((name) => [name, counted[name as keyof typeof used]])),
              used,
            );
          }
        },
      ),
      // Fewer runs do not reach every limit.
      { numRuns: byScope({ full: 1_000, quick: 200 }) },
    );
    const never = [
      'admitted',
      'keyTotalSpendLimitReached',
      'keyMonthlySpendLimitReached',
      'keyWeeklySpendLimitReached',
      'keySpendLimitReached',
      'keyCallsLimitReached',
      'keyConcurrencyLimited',
      'insufficientBalance',
      'balanceDailyLimitExceeded',
      'insufficientPackage',
      'packageExpired',
      'modelNotInPackage',
      'packageInputTooLarge',
      'packageOutputLimitExceeded',
      'packageFiveHourQuotaExhausted',
      'packageWeeklyQuotaExhausted',
      'packageTokensExhausted',
      'packageConcurrencyLimited',
    ].filter((kind) => !seen.has(kind));
    assert.deepEqual(never, [], JSON.stringify([...seen]));
  });

  it('give everything back if a call is admitted and released', () => {
    fc.assert(
      fc.property(
        change,
        fc.array(askedCall, { minLength: 1, maxLength: 20 }),
        fc.boolean(),
        (limits, asked, isBack) => {
          const account = new MemoryAccount({ balanceNano: 200n, plans: PLANS });
          account.subscribe('small', START_MS, START_MS + 10 * DAY_MS);
          account.limitKey({ concurrencyMax: 5 });
          account.admit([balanceCall('a', { isKeyLimited: true }), codingCall('b', {}, { model: 'a' })], START_MS);
          account.limitKey({ dailySpendCapNano: limits.dailySpendCapNano ?? null });
          const before = structuredClone(withoutReads(account.state));
          const open = [...account.open.keys()];
          const requests = asked.map(({ isOnPlan, isKeyLimited, model, amountNano, tokens }, i) =>
            isOnPlan
              ? codingCall(`call_${i}`, { tokens }, { model, isKeyLimited })
              : balanceCall(`call_${i}`, { model, isKeyLimited, amountNano }),
          );
          account.admit(requests, START_MS);
          const callIds = requests.map(({ callId }) => callId);
          for (const callId of isBack ? callIds.toReversed() : callIds) account.end(callId, NO_USE, START_MS);
          assert.deepEqual(withoutReads(account.state), before);
          assert.deepEqual([...account.open.keys()], open);
        },
      ),
      { numRuns: propertyRuns(500) },
    );
  });
});

function inReferenceWords(admission: Admission): ReferenceVerdict {
  if (!admission.isAdmitted)
    return { kind: admission.refusal.kind, retryAt: admission.refusal.retryAt, callsLeft: null };
  const { remaining } = admission;
  return { kind: 'admitted', retryAt: null, callsLeft: remaining && 'calls' in remaining ? remaining.calls : null };
}

/** A state without the parts that each batch reads again. */
function withoutReads(state: MemoryAccount['state']): object {
  const subscriptions = [...state.subscriptions.values()].map((subscription) => ({
    ...subscription,
    endsAtMs: null,
    oldestSlots: null,
    oldestSlotsMax: null,
  }));
  return { ...state, currentSubscriptionId: null, subscriptions };
}
