import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { createTestClock } from '../support/clock.ts';
import { assertSpent, startGateway, type TestAccount, type TestGateway, testConfigText } from '../support/gateway.ts';
import { chatResponse, chatStream, liveResponse } from '../support/provider.ts';
import { addresses, askAddress, workOf } from './addresses.ts';
import { createSubscriber, plansText, snapshotOf, subscribe } from './plans.ts';

const BEGIN = '2026-11-20T04:05:06.789Z';
const snapshotAddresses = addresses.filter(({ work }) => work === 'codingBalance');
const codingChat = addresses.find(({ path }) => path === '/v1/coding/chat/completions')!;

const pro = { fiveHourCalls: 10, weeklyCalls: 14, concurrency: 4, quotaTokens: 1_000 };
const PLANS = {
  pro: { ...pro, name: 'Coding Pro 专业版' },
  narrow: { ...pro, fiveHourCalls: 2 },
  'short-week': { ...pro, weeklyCalls: 3 },
  three: { ...pro, fiveHourCalls: 3, weeklyCalls: 200, quotaTokens: 200 },
  daily: { ...pro, periodDays: 1 },
  empty: { ...pro, fiveHourCalls: 0, weeklyCalls: 0, quotaTokens: 0 },
} as const;

/** The response for an account without a plan, except for times and messages. */
const withoutPlan = {
  active: false,
  is_active: false,
  isValid: false,
  balance: 0,
  remaining: 0,
  quota: 0,
  usedQuota: 0,
  unit: 'calls',
  planName: null,
  fiveHour: null,
  weekly: null,
  concurrency: null,
  pkg: null,
} as const;

describe('2.3 Coding Plan usage snapshot', () => {
  const clock = createTestClock(BEGIN);
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({ clock, plans: plansText(PLANS) });
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  /** Applies other plans. */
  function reload(plans: Parameters<typeof plansText>[0]): void {
    const text = testConfigText(gateway.provider.url, { plans: plansText(plans) });
    gateway.gateway.reload(parseConfig(text, 'test.yaml', {}));
  }

  const ask = () => askAddress(gateway.url, snapshotAddresses[0]!, account.key);

  it('2.3 every field is present in every 200, and no other', async () => {
    for (const address of snapshotAddresses) {
      const { status, json } = await askAddress(gateway.url, address, account.key);
      assert.equal(status, 200);
      assert.deepEqual(Object.keys(json).sort(), [...Object.keys(withoutPlan), 'capturedAt', 'message'].sort());
    }
  });

  for (const [field, value] of Object.entries(withoutPlan)) {
    it(`2.3 without a plan ${field} is ${JSON.stringify(value)}`, async () => {
      assert.strictEqual((await ask()).json[field], value);
    });
  }

  it('2.3 without a plan message says so', async () => {
    const { message } = (await ask()).json;
    assert.equal(typeof message, 'string');
    assert.match(message, /no Coding Plan/);
  });

  it('2.3 capturedAt is the time of the snapshot in UTC', async () => {
    assert.equal((await ask()).json.capturedAt, '2026-11-20T04:05:06.789Z');
    clock.advance(61_001);
    assert.equal((await ask()).json.capturedAt, '2026-11-20T04:06:07.790Z');
    clock.set(BEGIN);
  });

  it('2.3 money is not part of the snapshot: it is the same for a rich and a poor account', async () => {
    const poor = await gateway.createAccount({ balanceYuan: '0' });
    const { json: ofPoor } = await askAddress(gateway.url, snapshotAddresses[0]!, poor.key);
    assert.deepEqual(ofPoor, (await ask()).json);
    await assertSpent(account, 0n);
  });

  describe('with a plan', () => {
    /** One call on the plan, by default of 18 tokens. */
    async function use(subscriber: TestAccount, calls = 1, tokens = 18): Promise<void> {
      gateway.provider.respond = chatResponse({
        prompt_tokens: tokens - 7,
        completion_tokens: 7,
        total_tokens: tokens,
      });
      for (let i = 0; i < calls; i++) {
        assert.equal((await askAddress(gateway.url, codingChat, subscriber.key)).status, 200);
      }
    }
    const subscribed = () => createSubscriber(gateway, 'pro');

    it('2.3 with a plan active is true, whatever is left of it', async () => {
      for (const planId of ['pro', 'empty']) {
        assert.equal((await snapshotOf(gateway, await createSubscriber(gateway, planId))).active, true);
      }
    });

    it('2.3 is_active and isValid are true while both windows have calls, and false when either is exhausted', async () => {
      for (const [planId, calls] of [
        ['narrow', 2],
        ['short-week', 3],
      ] as const) {
        const subscriber = await createSubscriber(gateway, planId);
        for (let left = calls; left > 0; left--) {
          const { is_active, isValid } = await snapshotOf(gateway, subscriber);
          assert.deepEqual([is_active, isValid], [true, true]);
          await use(subscriber);
        }
        const { active, is_active, isValid } = await snapshotOf(gateway, subscriber);
        assert.deepEqual([active, is_active, isValid], [true, false, false]);
      }
    });

    it('2.3 is_active is false and remaining 0 as well when the tokens of the period are used up: no call is usable', async () => {
      const subscriber = await subscribed();
      await use(subscriber, 1, 1_001);
      const { active, is_active, isValid, balance, remaining, fiveHour } = await snapshotOf(gateway, subscriber);
      assert.deepEqual([active, is_active, isValid, balance, remaining], [true, false, false, 0, 0]);
      assert.equal(fiveHour.remaining, 9);
    });

    it('2.3 balance and remaining are the lower remainder of the two windows', async () => {
      for (const [planId, expected] of [
        ['pro', [9, 9, 13]],
        ['short-week', [2, 9, 2]],
      ] as const) {
        const subscriber = await createSubscriber(gateway, planId);
        await use(subscriber);
        const { balance, remaining, fiveHour, weekly } = await snapshotOf(gateway, subscriber);
        assert.deepEqual([remaining, fiveHour.remaining, weekly.remaining], expected);
        assert.equal(balance, remaining);
      }
    });

    it('2.3 quota and usedQuota are the limit and the used calls of the five-hour window', async () => {
      const subscriber = await createSubscriber(gateway, 'short-week');
      await use(subscriber, 2);
      const { quota, usedQuota, fiveHour } = await snapshotOf(gateway, subscriber);
      assert.deepEqual([quota, usedQuota], [10, 2]);
      assert.deepEqual([fiveHour.limit, fiveHour.used], [10, 2]);
    });

    it('2.3 planName is the name of the plan, and message is null', async () => {
      const { planName, message } = await snapshotOf(gateway, await subscribed());
      assert.deepEqual([planName, message], ['Coding Pro 专业版', null]);
    });

    it('2.3 fiveHour has limit, used, remaining, usedPercent, and resetAt five hours after the snapshot', async () => {
      const subscriber = await subscribed();
      await use(subscriber, 3);
      clock.set('2026-11-20T05:00:00.001Z');
      assert.deepEqual((await snapshotOf(gateway, subscriber)).fiveHour, {
        limit: 10,
        used: 3,
        remaining: 7,
        usedPercent: 30,
        resetAt: '2026-11-20T10:00:00.001Z',
      });
      clock.set(BEGIN);
    });

    it('2.3 weekly has limit, used, remaining, usedPercent, and the week of the plan as windowStart and windowEnd', async () => {
      const subscriber = await gateway.createAccount();
      await subscribe(gateway, subscriber, 'pro', '2026-11-08T01:02:03.004Z');
      await use(subscriber);
      assert.deepEqual((await snapshotOf(gateway, subscriber)).weekly, {
        limit: 14,
        used: 1,
        remaining: 13,
        usedPercent: 7,
        windowStart: '2026-11-15T01:02:03.004Z',
        windowEnd: '2026-11-22T01:02:03.004Z',
      });
    });

    it('2.3 usedPercent and usagePercent are integers, rounded down, and 100 only if nothing is left', async () => {
      const subscriber = await createSubscriber(gateway, 'three');
      const percents: number[][] = [];
      for (let calls = 0; calls <= 3; calls++) {
        const { fiveHour, weekly, pkg } = await snapshotOf(gateway, subscriber);
        percents.push([fiveHour.usedPercent, weekly.usedPercent, pkg.usagePercent]);
        if (calls < 3) await use(subscriber, 1, 67);
      }
      assert.deepEqual(percents, [
        [0, 0, 0],
        [33, 0, 33],
        [66, 1, 67],
        [100, 1, 100],
      ]);
    });

    it('2.3 concurrency has the limit and the calls in flight', async () => {
      const subscriber = await subscribed();
      assert.deepEqual((await snapshotOf(gateway, subscriber)).concurrency, { limit: 4, inFlight: 0 });
      const live = [liveResponse(), liveResponse()];
      const responses = [];
      for (const [index, { respond, opened }] of live.entries()) {
        gateway.provider.respond = respond;
        responses.push(
          askAddress(gateway.url, codingChat, subscriber.key, { body: { ...workOf(codingChat).body, stream: true } }),
        );
        await opened;
        const { concurrency, remaining } = await snapshotOf(gateway, subscriber);
        assert.deepEqual([concurrency, remaining], [{ limit: 4, inFlight: index + 1 }, 9 - index]);
      }
      for (const { write, end } of live) {
        await write(chatStream(['Hello']).join(''));
        end();
      }
      for (const response of await Promise.all(responses)) assert.equal(response.status, 200);
      assert.deepEqual((await snapshotOf(gateway, subscriber)).concurrency, { limit: 4, inFlight: 0 });
    });

    it('2.3 pkg has the tokens of the period, used and left, the period, and the canonical ids of the models', async () => {
      const subscriber = await subscribed();
      await use(subscriber, 2, 123);
      assert.deepEqual((await snapshotOf(gateway, subscriber)).pkg, {
        quotaTokens: 1_000,
        usedTokens: 246,
        remainingTokens: 754,
        usagePercent: 24,
        periodStart: BEGIN,
        periodEnd: '2026-12-20T04:05:06.789Z',
        supportedModels: ['test-chat', 'test-messages', 'test-responses', 'test-completions'],
      });
    });

    it('2.3 tokens beyond the quota, which a last call may use, leave 0 and 100 percent', async () => {
      const subscriber = await subscribed();
      await use(subscriber, 1, 2_500);
      const { usedTokens, remainingTokens, usagePercent } = (await snapshotOf(gateway, subscriber)).pkg;
      assert.deepEqual([usedTokens, remainingTokens, usagePercent], [2_500, 0, 100]);
    });

    it('2.3 after a renewal the period is the one of now, counted from the same beginning, and its tokens are 0 again', async () => {
      const subscriber = await gateway.createAccount();
      const id = await subscribe(gateway, subscriber, 'daily');
      await use(subscriber, 1, 50);
      assert.equal((await gateway.admin('POST', `/subscriptions/${id}/renewals`)).status, 201);
      clock.set('2026-11-21T09:00:00.000Z');
      const { usedTokens, periodStart, periodEnd } = (await snapshotOf(gateway, subscriber)).pkg;
      clock.set(BEGIN);
      assert.deepEqual(
        [usedTokens, periodStart, periodEnd],
        [0, '2026-11-21T04:05:06.789Z', '2026-11-22T04:05:06.789Z'],
      );
    });

    /** Brings accounts into every state of a plan; the valid ones are `active`. */
    const states: Readonly<Record<string, { active: boolean; prepare: () => Promise<TestAccount> }>> = {
      'without a plan': { active: false, prepare: () => gateway.createAccount() },
      'before the plan begins': {
        active: false,
        async prepare() {
          const early = await gateway.createAccount();
          await subscribe(gateway, early, 'pro', '2026-11-20T04:05:06.790Z');
          return early;
        },
      },
      'after the plan has expired': {
        active: false,
        async prepare() {
          const late = await gateway.createAccount();
          await subscribe(gateway, late, 'daily', '2026-11-19T04:05:06.790Z');
          clock.advance(1);
          return late;
        },
      },
      'after the plan was canceled': {
        active: false,
        async prepare() {
          const former = await gateway.createAccount();
          const id = await subscribe(gateway, former, 'pro');
          await use(former);
          assert.equal((await gateway.admin('DELETE', `/subscriptions/${id}`)).status, 204);
          return former;
        },
      },
      'with a plan that is not offered any more': {
        active: false,
        async prepare() {
          const left = await subscribed();
          reload({});
          return left;
        },
      },
      'with a fresh plan': { active: true, prepare: subscribed },
      'with a plan in use': {
        active: true,
        async prepare() {
          const busy = await subscribed();
          await use(busy, 3);
          return busy;
        },
      },
      'with the five-hour window exhausted': {
        active: true,
        async prepare() {
          const spent = await createSubscriber(gateway, 'narrow');
          await use(spent, 2);
          return spent;
        },
      },
      'with the week exhausted': {
        active: true,
        async prepare() {
          const spent = await createSubscriber(gateway, 'short-week');
          await use(spent, 3);
          return spent;
        },
      },
      'with the tokens used up': {
        active: true,
        async prepare() {
          const spent = await subscribed();
          await use(spent, 1, 5_000);
          return spent;
        },
      },
      'with a plan that allows nothing': { active: true, prepare: () => createSubscriber(gateway, 'empty') },
      'with more used than a plan allows since its limits were lowered': {
        active: true,
        async prepare() {
          const curbed = await subscribed();
          await use(curbed, 3, 100);
          reload({ ...PLANS, pro: { ...PLANS.pro, fiveHourCalls: 2, weeklyCalls: 1, quotaTokens: 299 } });
          return curbed;
        },
      },
    };

    for (const [state, { active, prepare }] of Object.entries(states)) {
      it(`2.3 ${state} every field is there with its type, in its range, and they agree with each other, at every address`, async () => {
        try {
          const subscriber = await prepare();
          for (const address of snapshotAddresses) {
            const { status, json } = await askAddress(gateway.url, address, subscriber.key);
            assert.equal(status, 200);
            assert.equal(json.active, active);
            if (active) assertPlanSnapshot(json);
            else assertNoPlanSnapshot(json);
          }
          await assertSpent(subscriber, 0n);
        } finally {
          clock.set(BEGIN);
          reload(PLANS);
        }
      });
    }
  });
});

const HOUR_MS = 3_600_000;

// biome-ignore lint/suspicious/noExplicitAny: what came over the wire is what is looked at
function assertNoPlanSnapshot({ capturedAt, message, ...rest }: any): void {
  assert.deepEqual(rest, withoutPlan);
  assertInstant(capturedAt);
  assert.ok(typeof message === 'string' && message !== '');
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function assertPlanSnapshot(snapshot: any): void {
  const { capturedAt, message, fiveHour, weekly, concurrency, pkg } = snapshot;
  assert.deepEqual(Object.keys(snapshot).sort(), [...Object.keys(withoutPlan), 'capturedAt', 'message'].sort());
  assert.equal(message, null);
  assert.ok(typeof snapshot.planName === 'string' && snapshot.planName !== '');
  assert.equal(snapshot.unit, 'calls');
  const capturedMs = assertInstant(capturedAt);

  assertKeys(fiveHour, ['limit', 'used', 'remaining', 'usedPercent', 'resetAt']);
  assertShare(fiveHour.limit, fiveHour.used, fiveHour.remaining, fiveHour.usedPercent);
  assert.equal(assertInstant(fiveHour.resetAt), capturedMs + 5 * HOUR_MS);

  assertKeys(weekly, ['limit', 'used', 'remaining', 'usedPercent', 'windowStart', 'windowEnd']);
  assertShare(weekly.limit, weekly.used, weekly.remaining, weekly.usedPercent);
  const startMs = assertInstant(weekly.windowStart);
  assert.equal(assertInstant(weekly.windowEnd), startMs + 7 * 24 * HOUR_MS);
  assert.ok(startMs <= capturedMs && capturedMs < startMs + 7 * 24 * HOUR_MS);

  assertKeys(concurrency, ['limit', 'inFlight']);
  for (const count of Object.values(concurrency)) assertCount(count);

  assertKeys(pkg, [
    'quotaTokens',
    'usedTokens',
    'remainingTokens',
    'usagePercent',
    'periodStart',
    'periodEnd',
    'supportedModels',
  ]);
  assertShare(pkg.quotaTokens, pkg.usedTokens, pkg.remainingTokens, pkg.usagePercent);
  assert.ok(assertInstant(pkg.periodStart) <= capturedMs && capturedMs < assertInstant(pkg.periodEnd));
  assert.ok(Array.isArray(pkg.supportedModels) && pkg.supportedModels.length > 0);
  for (const model of pkg.supportedModels) assert.equal(typeof model, 'string');

  const { quota, usedQuota, remaining, balance, is_active, isValid } = snapshot;
  assert.deepEqual([quota, usedQuota], [fiveHour.limit, fiveHour.used]);
  assert.equal(remaining, pkg.remainingTokens === 0 ? 0 : Math.min(fiveHour.remaining, weekly.remaining));
  assert.equal(balance, remaining);
  assert.deepEqual([is_active, isValid], [remaining > 0, remaining > 0]);
}

function assertKeys(object: object, keys: readonly string[]): void {
  assert.deepEqual(Object.keys(object).sort(), keys.toSorted());
}

function assertCount(count: unknown): void {
  assert.ok(Number.isSafeInteger(count) && Number(count) >= 0, String(count));
}

/** Asserts the figures of a limit. */
function assertShare(limit: number, used: number, remaining: number, percent: number): void {
  for (const count of [limit, used, remaining, percent]) assertCount(count);
  assert.equal(remaining, Math.max(limit - used, 0));
  assert.ok(percent <= 100);
  assert.equal(percent === 100, remaining === 0);
}

/** Asserts an instant in ISO 8601 and UTC; returns milliseconds. */
function assertInstant(text: unknown): number {
  assert.equal(new Date(String(text)).toISOString(), text);
  return Date.parse(String(text));
}
