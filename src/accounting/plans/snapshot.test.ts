import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { planOf } from '../../../test/support/account-in-memory.ts';
import { CLOCK_TOLERANCE_MS } from '../counts/counted-since.ts';
import type { PlanTerms } from './plan.ts';
import { findCurrentPlan, noPlanSnapshot, planSnapshot, usableAgainMs } from './snapshot.ts';
import type { SubscriptionState } from './subscription-state-store.ts';

const START_MS = Date.parse('2026-11-01T08:30:00.250Z');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const PLAN = planOf({
  id: 'pro',
  name: 'Pro',
  fiveHourCalls: 600,
  weeklyCalls: 5_000,
  concurrency: 4,
  quotaTokens: 1_000_000,
  periodDays: 10,
  models: new Set(['a', 'b']),
});

const stateOf = (state: Partial<SubscriptionState>): SubscriptionState => ({
  planId: 'pro',
  startsAtMs: START_MS,
  endsAtMs: START_MS + 10 * DAY_MS,
  fiveHourCalls: 0,
  fiveHourMoreAtMs: null,
  weekBeganAtMs: START_MS,
  weekCalls: 0,
  periodBeganAtMs: START_MS,
  periodTokens: 0,
  inFlight: 0,
  ...state,
});

const snapshotOf = (state: Partial<SubscriptionState>, ageMs = HOUR_MS, plan: Partial<PlanTerms> = {}) =>
  planSnapshot({ ...PLAN, ...plan }, stateOf(state), START_MS + ageMs);

describe('the instant from which a used-up plan is usable again', () => {
  const free = START_MS + 3 * HOUR_MS;
  for (const [what, state, againMs] of [
    ['none while calls remain', { fiveHourCalls: 599, weekCalls: 4_999, periodTokens: 999_999 }, null],
    ['when the five-hour window has room', { fiveHourCalls: 600, fiveHourMoreAtMs: free }, free],
    ['when the next week begins', { weekCalls: 5_000 }, START_MS + 7 * DAY_MS],
    ['when the next period begins', { periodTokens: 1_000_000 }, START_MS + 10 * DAY_MS],
    [
      'the last of them if several are used up',
      { fiveHourCalls: 600, fiveHourMoreAtMs: free, weekCalls: 5_000 },
      START_MS + 7 * DAY_MS,
    ],
  ] as const) {
    it(`is ${what}`, () => {
      assert.equal(usableAgainMs(stateOf(state), snapshotOf(state)), againMs);
    });
  }

  it('is none if there is no plan', () => {
    assert.equal(usableAgainMs(stateOf({}), noPlanSnapshot(0, 'None.')), null);
  });
});

describe('plan snapshot', () => {
  it('has used and remaining amounts with the bounds of their windows', () => {
    assert.deepEqual(snapshotOf({ fiveHourCalls: 120, weekCalls: 1_250, periodTokens: 250_000, inFlight: 3 }), {
      active: true,
      is_active: true,
      isValid: true,
      balance: 480,
      remaining: 480,
      quota: 600,
      usedQuota: 120,
      unit: 'calls',
      planName: 'Pro',
      capturedAt: '2026-11-01T09:30:00.250Z',
      message: null,
      fiveHour: { limit: 600, used: 120, remaining: 480, usedPercent: 20, resetAt: '2026-11-01T14:30:00.250Z' },
      weekly: {
        limit: 5_000,
        used: 1_250,
        remaining: 3_750,
        usedPercent: 25,
        windowStart: '2026-11-01T08:30:00.250Z',
        windowEnd: '2026-11-08T08:30:00.250Z',
      },
      concurrency: { limit: 4, inFlight: 3 },
      pkg: {
        quotaTokens: 1_000_000,
        usedTokens: 250_000,
        remainingTokens: 750_000,
        usagePercent: 25,
        periodStart: '2026-11-01T08:30:00.250Z',
        periodEnd: '2026-11-11T08:30:00.250Z',
        supportedModels: ['a', 'b'],
      },
    });
  });

  it('has nothing remaining once a window or the tokens are used up', () => {
    for (const state of [{ fiveHourCalls: 600 }, { weekCalls: 5_000 }, { periodTokens: 1_000_000 }]) {
      const { active, is_active, isValid, remaining, balance } = snapshotOf(state);
      assert.deepEqual([active, is_active, isValid, remaining, balance], [true, false, false, 0, 0]);
    }
  });

  it('is usable until the last call and the last token', () => {
    for (const state of [{ fiveHourCalls: 599 }, { weekCalls: 4_999 }]) {
      assert.deepEqual([snapshotOf(state).is_active, snapshotOf(state).remaining], [true, 1]);
    }
    assert.equal(snapshotOf({ periodTokens: 999_999 }).is_active, true);
  });

  it('rounds percentages down, so that 100 means that nothing remains', () => {
    assert.equal(snapshotOf({ fiveHourCalls: 599 }).fiveHour?.usedPercent, 99);
    assert.equal(snapshotOf({ weekCalls: 49 }).weekly?.usedPercent, 0);
    assert.equal(snapshotOf({ periodTokens: 999_999 }).pkg?.usagePercent, 99);
  });

  it('stays within 0 and 100 percent if a limit is lowered or zero', () => {
    const lowered = snapshotOf({ fiveHourCalls: 600, weekCalls: 5_000, periodTokens: 9_000_000 }, HOUR_MS, {
      fiveHourCalls: 10,
      weeklyCalls: 0,
      quotaTokens: 0,
    });
    assert.deepEqual([lowered.fiveHour?.usedPercent, lowered.fiveHour?.remaining], [100, 0]);
    assert.deepEqual([lowered.weekly?.usedPercent, lowered.weekly?.remaining], [100, 0]);
    assert.deepEqual([lowered.pkg?.usagePercent, lowered.pkg?.remainingTokens], [100, 0]);
    assert.equal(lowered.remaining, 0);
  });

  it('ignores the stored counts of an earlier week or period', () => {
    const state = { weekCalls: 5_000, periodTokens: 1_000_000, endsAtMs: START_MS + 20 * DAY_MS };
    const lastMoment = snapshotOf(state, 7 * DAY_MS - 1);
    assert.deepEqual([lastMoment.weekly?.used, lastMoment.pkg?.usedTokens], [5_000, 1_000_000]);
    assert.equal(snapshotOf(state, 7 * DAY_MS).weekly?.used, 0);
    assert.equal(snapshotOf(state, 10 * DAY_MS - 1).pkg?.usedTokens, 1_000_000);
    assert.equal(snapshotOf(state, 10 * DAY_MS).pkg?.usedTokens, 0);
  });

  it('does not return to an earlier week if the clock goes back a little', () => {
    const weekBeganAtMs = START_MS + 7 * DAY_MS;
    const { weekly } = snapshotOf({ weekBeganAtMs, weekCalls: 3 }, 7 * DAY_MS - CLOCK_TOLERANCE_MS);
    assert.deepEqual([weekly?.used, weekly?.windowStart], [3, '2026-11-08T08:30:00.250Z']);
    const { weekly: past } = snapshotOf({ weekBeganAtMs, weekCalls: 3 }, 7 * DAY_MS - CLOCK_TOLERANCE_MS - 1);
    assert.deepEqual([past?.used, past?.windowStart], [0, '2026-11-01T08:30:00.250Z']);
  });

  it('counts the current period, whatever its length was when the count began', () => {
    const used = (beganAtDays: number, periodDays: number) =>
      snapshotOf({ periodBeganAtMs: START_MS + beganAtDays * DAY_MS, periodTokens: 7 }, 9 * DAY_MS, { periodDays }).pkg;
    assert.deepEqual([used(8, 30)?.usedTokens, used(8, 30)?.periodEnd], [7, '2026-11-11T08:30:00.250Z']);
    assert.equal(used(8, 1)?.usedTokens, 0);
    assert.equal(used(8, 4)?.usedTokens, 7);
    assert.equal(used(10, 30)?.usedTokens, 0);
  });

  it('ends the last period with the plan', () => {
    const { pkg } = snapshotOf({ endsAtMs: START_MS + 12 * DAY_MS }, 11 * DAY_MS);
    assert.deepEqual([pkg?.periodStart, pkg?.periodEnd], ['2026-11-11T08:30:00.250Z', '2026-11-13T08:30:00.250Z']);
  });

  it('always lies within its week and period, and adds up', () => {
    fc.assert(
      fc.property(
        fc.record({
          ageMs: fc.nat({ max: 400 * DAY_MS }),
          used: fc.nat({ max: 700 }),
          weekCalls: fc.nat({ max: 6_000 }),
          periodDays: fc.integer({ min: 1, max: 400 }),
        }),
        ({ ageMs, used, weekCalls, periodDays }) => {
          const nowMs = START_MS + ageMs;
          const endsAtMs = START_MS + 401 * DAY_MS;
          const snapshot = snapshotOf({ fiveHourCalls: used, weekCalls, endsAtMs }, ageMs, { periodDays });
          const { fiveHour, weekly, pkg, remaining, is_active } = snapshot;
          const spans = [
            [weekly!.windowStart, weekly!.windowEnd],
            [pkg!.periodStart, pkg!.periodEnd],
          ] as const;
          for (const [from, to] of spans) assert.ok(Date.parse(from) <= nowMs && nowMs < Date.parse(to));
          assert.equal(Date.parse(weekly!.windowEnd) - Date.parse(weekly!.windowStart), 7 * DAY_MS);
          assert.equal(remaining, Math.max(Math.min(600 - used, 5_000 - weekly!.used), 0));
          assert.equal(is_active, remaining > 0);
          for (const { usedPercent } of [fiveHour!, weekly!]) {
            assert.ok(Number.isInteger(usedPercent) && usedPercent >= 0 && usedPercent <= 100);
          }
        },
      ),
    );
  });

  it('has the same fields without a plan', () => {
    const none = noPlanSnapshot(START_MS, 'There is none.');
    assert.deepEqual(Object.keys(none), Object.keys(snapshotOf({})));
    assert.deepEqual(none, {
      active: false,
      is_active: false,
      isValid: false,
      balance: 0,
      remaining: 0,
      quota: 0,
      usedQuota: 0,
      unit: 'calls',
      planName: null,
      capturedAt: '2026-11-01T08:30:00.250Z',
      message: 'There is none.',
      fiveHour: null,
      weekly: null,
      concurrency: null,
      pkg: null,
    });
  });
});

describe('the current plan', () => {
  const reasonAt = (nowMs: number, state: SubscriptionState | null, plans: readonly PlanTerms[] = [PLAN]) => {
    const current = findCurrentPlan(state, plans, nowMs);
    return current.plan === null ? current.reason : current.plan.id;
  };

  it('is active from its first millisecond to its last', () => {
    const state = stateOf({});
    assert.equal(reasonAt(START_MS - 1, state), 'The plan Pro begins at 2026-11-01T08:30:00.250Z.');
    assert.equal(reasonAt(START_MS, state), 'pro');
    assert.equal(reasonAt(state.endsAtMs - 1, state), 'pro');
    assert.equal(reasonAt(state.endsAtMs, state), 'The plan Pro expired at 2026-11-11T08:30:00.250Z.');
  });

  it('is none if the account never had one, or if the plan has left the configuration', () => {
    assert.equal(reasonAt(START_MS, null), 'This account has no Coding Plan.');
    assert.equal(reasonAt(START_MS, stateOf({}), []), 'The plan pro is no longer offered.');
  });
});
