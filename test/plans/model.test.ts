import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { PlanTerms } from '../../src/accounting/plans/plan.ts';
import { findCurrentPlan, planSnapshot } from '../../src/accounting/plans/snapshot.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import { createLocalTime } from '../../src/accounting/pricing/local-time.ts';
import type { Admission } from '../../src/accounting/reservations/reservation.ts';
import type { PlanUse } from '../../src/accounting/settlement/settlement-record.ts';
import type { Database } from '../../src/db/database.ts';
import { planOf } from '../support/account-in-memory.ts';
import {
  createTestNode,
  openAccount,
  outcomeOf,
  recordOf,
  requestOf,
  type TestNode,
} from '../support/accounting-builders.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { propertyRuns } from '../support/scope.ts';
import { ReferenceAccount, type ReferenceSubscription, type ReferenceVerdict } from './reference.ts';

/**
 * Random sequences of calls, failures, cancellations and clock steps, on one node or two, compared with the reference: never one call too
 * many or too few, and the snapshot always reports what the reference counts.
 */

const plan = (id: string, terms: Partial<PlanTerms>): PlanTerms =>
  planOf({
    id,
    fiveHourCalls: 5,
    weeklyCalls: 12,
    concurrency: 3,
    quotaTokens: 1_000,
    periodDays: 10,
    models: new Set(['a', 'b']),
    ...terms,
  });

const PLANS: readonly PlanTerms[] = [
  plan('small', {}),
  plan('wide', { fiveHourCalls: 9, weeklyCalls: 10, concurrency: 9, quotaTokens: 300, periodDays: 3 }),
  plan('none', { fiveHourCalls: 0 }),
  plan('broad', { fiveHourCalls: 500, weeklyCalls: 1_000, concurrency: 500 }),
];

const MINUTE_MS = 60_000;

/** An admission's outcome in terms of the reference. */
function verdictOf(admission: Admission): ReferenceVerdict {
  if (!admission.isAdmitted)
    return { kind: admission.refusal.kind, retryAt: admission.refusal.retryAt, callsLeft: null };
  const { remaining } = admission;
  return { kind: 'admitted', retryAt: null, callsLeft: remaining && 'calls' in remaining ? remaining.calls : null };
}

interface Request {
  readonly model: string;
  readonly inputBytes: number;
  readonly output: number;
  readonly reserved: number;
  readonly inner: readonly string[];
}

type Step =
  | { readonly kind: 'calls'; readonly requests: readonly Request[] }
  | { readonly kind: 'end'; readonly which: number; readonly counts: boolean; readonly tokens: number }
  | { readonly kind: 'wait'; readonly minutes: number }
  | { readonly kind: 'grant'; readonly planId: string; readonly inMinutes: number }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'renew' };

const request = fc.record({
  model: fc.constantFrom('a', 'a', 'a', 'a', 'a', 'b', 'c'),
  inputBytes: fc.constantFrom(1, 1, 1, 1, 100, 101),
  output: fc.constantFrom(0, 0, 0, 50, 51),
  reserved: fc.constantFrom(0, 1, 1, 1, 90, 400, 999),
  inner: fc.constantFrom<readonly string[]>([], [], [], [], ['b'], ['a', 'b'], ['b', 'c']),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('calls' as const),
      requests: fc.array(request, { minLength: 1, maxLength: 7 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      which: fc.nat({ max: 20 }),
      counts: fc.boolean(),
      tokens: fc.constantFrom(0, 10, 90, 400),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      minutes: fc.constantFrom(1, 30, 149, 150, 151, 299, 300, 301, 1_440, 4_319, 4_320, 10_079, 10_080),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('grant' as const),
      planId: fc.constantFrom('small', 'small', 'wide', 'none'),
      inMinutes: fc.constantFrom(0, 0, 0, 60),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('renew' as const) }) },
);

describe(`a Coding Plan compared with its reference`, { timeout: 240_000 }, () => {
  let stored: TestDatabase;
  let second: Database;
  before(async () => {
    stored = await createTestDatabase();
    second = stored.openAnother();
  });
  after(async () => {
    if (second !== stored.database) await second.close();
    await stored.remove();
  });

  const localTime = createLocalTime('Asia/Shanghai');
  const nodeOn = (database: Database, clock: TestClock): TestNode =>
    createTestNode(database, {
      clock,
      terms: () => ({ localTime, defaultDailyCapNano: null, rateDefaults: null, plans: PLANS }),
    });

  /** Ends a coding call so many times. */
  async function end(node: TestNode, accountId: string, callId: string, plan: PlanUse, times = 1): Promise<void> {
    const outcome = { ...outcomeOf(accountId, callId, null), context: 'coding' };
    for (let n = 0; n < times; n++) await node.settlement.end(recordOf(outcome, { plan }));
  }

  let accounts = 0;

  it('admits exactly what the reference admits, with the same reasons and times, and shows what it counts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const accountId = `acct_model_${++accounts}`;
        await openAccount(stored.database, accountId, 0n);
        const clock = createTestClock('2026-03-27T22:00:00Z');
        const nodes = [nodeOn(stored.database, clock), nodeOn(second, clock)];
        const subscriptions = createSubscriptionStore(stored.database);
        const reference = new ReferenceAccount(PLANS);
        const granted: { id: string; reference: ReferenceSubscription }[] = [];
        const inFlight: string[] = [];
        let calls = 0;

        for (const [index, taken] of [{ kind: 'grant', planId: 'small', inMinutes: 0 } as Step, ...steps].entries()) {
          const nowMs = clock.nowMs();
          const node = nodes[index % nodes.length]!;
          switch (taken.kind) {
            case 'calls': {
              const requests = taken.requests.map(({ model, inputBytes, output, reserved, inner }) => ({
                callId: `call_${++calls}`,
                model,
                inputBytes,
                outputTokensRequested: output,
                tokens: reserved,
                innerModels: inner,
              }));
              // Submitted in one turn of the event loop, so that they share a batch.
              const verdicts = await Promise.all(
                requests.map(({ callId, model, ...plan }) =>
                  node.reservations.admit(requestOf(accountId, callId, null, { model, plan })),
                ),
              );
              for (const [i, each] of requests.entries()) {
                assert.deepEqual(
                  verdictOf(verdicts[i]!),
                  reference.admit(each, nowMs),
                  `${each.callId} of step ${index}`,
                );
                if (verdicts[i]!.isAdmitted) inFlight.push(each.callId);
              }
              break;
            }
            case 'end': {
              if (inFlight.length === 0) break;
              const [callId] = inFlight.splice(taken.which % inFlight.length, 1);
              const { counts } = taken;
              const tokens = counts ? taken.tokens : 0;
              // A repeated end changes nothing.
              await end(node, accountId, callId!, { counts, tokens }, taken.which % 3 === 0 ? 2 : 1);
              reference.end(callId!, counts, tokens);
              break;
            }
            case 'wait':
              clock.advance(taken.minutes * MINUTE_MS);
              break;
            case 'grant': {
              const startsAtMs = nowMs + taken.inMinutes * MINUTE_MS;
              const expected = reference.grant(taken.planId, startsAtMs);
              const days = PLANS.find(({ id }) => id === taken.planId)!.periodDays;
              const got = await subscriptions.grant({
                accountId,
                id: `sub_${accountId}_${index}`,
                planId: taken.planId,
                startsAt: new Date(startsAtMs),
                endsAt: new Date(startsAtMs + days * 1_440 * MINUTE_MS),
                at: new Date(nowMs),
              });
              assert.equal(got === null, expected === null, `grant at step ${index}`);
              if (got !== null) granted.push({ id: got.id, reference: expected! });
              break;
            }
            case 'cancel': {
              const last = granted.at(-1);
              if (last === undefined) break;
              await subscriptions.cancel(accountId, last.id, new Date(nowMs));
              last.reference.isCanceled = true;
              break;
            }
            case 'renew': {
              const last = granted.at(-1);
              if (last === undefined || last.reference.isCanceled) break;
              const { endsAtMs, planId } = last.reference;
              const days = PLANS.find(({ id }) => id === planId)!.periodDays;
              const to = new Date(endsAtMs + days * 1_440 * MINUTE_MS);
              const renewed = await subscriptions.renew(accountId, last.id, new Date(endsAtMs), to);
              if (renewed !== null) last.reference.endsAtMs = to.getTime();
              break;
            }
          }
          await assertSnapshot(accountId, reference, clock.nowMs());
        }
      }),
      { numRuns: propertyRuns(60) },
    );
  });

  it('reports the remainder of a window from which many calls have expired once it has counted all of them', async () => {
    for (const [lapsed, batch, isExact] of [
      [64, 1, true],
      [65, 1, false],
      [65, 2, true],
      [66, 2, false],
      [200, 1, false],
    ] as const) {
      const accountId = `acct_lapsed_${lapsed}_${batch}`;
      await openAccount(stored.database, accountId, 0n);
      const clock = createTestClock('2026-03-27T22:00:00Z');
      const node = nodeOn(stored.database, clock);
      await createSubscriptionStore(stored.database).grant({
        accountId,
        id: `sub_${accountId}`,
        planId: 'broad',
        startsAt: new Date(clock.nowMs()),
        endsAt: new Date(clock.nowMs() + 10 * 1_440 * MINUTE_MS),
        at: new Date(clock.nowMs()),
      });
      let calls = 0;
      const leftAfter = async (count: number): Promise<(number | null)[]> => {
        const ids = Array.from({ length: count }, () => `call_${++calls}`);
        const plan = { inputBytes: 1, outputTokensRequested: 0, tokens: 1, innerModels: [] };
        const verdicts = await Promise.all(
          ids.map((callId) => node.reservations.admit(requestOf(accountId, callId, null, { model: 'a', plan }))),
        );
        await Promise.all(ids.map((callId) => end(node, accountId, callId, { counts: true, tokens: 1 })));
        return verdicts.map((admission) => verdictOf(admission).callsLeft);
      };
      await leftAfter(lapsed);
      clock.advance(300 * MINUTE_MS);
      assert.deepEqual(
        await leftAfter(batch),
        Array.from({ length: batch }, (_, i) => (isExact ? 499 - i : null)),
        `${batch} calls after ${lapsed}`,
      );
      const seen = batch + 64 + 1 + 64;
      assert.deepEqual(await leftAfter(1), [lapsed < seen ? 499 - batch : null], `one more after ${lapsed}`);
    }
  });

  async function assertSnapshot(accountId: string, reference: ReferenceAccount, nowMs: number): Promise<void> {
    const state = await createSubscriptionStore(stored.database).findState(accountId, new Date(nowMs), PLANS);
    const current = findCurrentPlan(state, PLANS, nowMs);
    const expected = reference.current(nowMs);
    assert.equal(current.plan?.id ?? null, expected?.planId ?? null);
    if (current.plan === null || expected === null) return;
    const used = reference.use(expected, nowMs);
    const { fiveHour, weekly, concurrency, pkg, remaining, is_active } = planSnapshot(
      current.plan,
      current.state,
      nowMs,
    );
    const { fiveHourCalls, weeklyCalls, quotaTokens } = current.plan;
    const times = used.fiveHour.map(({ atMs }) => atMs).sort((a, b) => a - b);
    const next = times[Math.max(times.length - fiveHourCalls, 0)];
    assert.equal(current.state.fiveHourMoreAtMs, next === undefined ? null : next + 300 * MINUTE_MS);
    assert.deepEqual(
      [fiveHour!.used, weekly!.used, concurrency!.inFlight, pkg!.usedTokens],
      [used.fiveHour.length, used.weekCalls, used.inFlight, used.tokens],
    );
    const left = Math.min(fiveHourCalls - used.fiveHour.length, weeklyCalls - used.weekCalls);
    assert.equal(remaining, used.tokens >= quotaTokens ? 0 : left);
    assert.equal(is_active, remaining > 0);
    assert.equal(Date.parse(weekly!.windowStart), expected.startsAtMs + used.week * 7 * 1_440 * MINUTE_MS);
  }
});
