import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { addresses, askAddress, responseAnything } from './addresses.ts';
import { assertCounted, createSubscriber, plansText, snapshotOf, subscribe } from './plans.ts';

const BEGIN = '2026-11-20T04:00:00.000Z';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const chat = addresses.find(({ path }) => path === '/v1/coding/chat/completions')!;

describe('3 States and transitions', () => {
  const clock = createTestClock(BEGIN);
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({
      clock,
      plans: plansText({
        'coding-pro': { fiveHourCalls: 3, weeklyCalls: 5 },
        'short-week': { fiveHourCalls: 9, weeklyCalls: 2 },
      }),
    });
    gateway.provider.respond = responseAnything;
  });
  beforeEach(() => clock.set(BEGIN));
  after(() => gateway.stop());

  /** The result of a call on the plan: 200, or the code of its refusal. */
  async function tryCall({ key }: TestAccount): Promise<string> {
    const { status, headers } = await askAddress(gateway.url, chat, key);
    return status === 200 ? '200' : String(headers['x-error-code']);
  }
  async function assertCalls(account: TestAccount, count: number): Promise<void> {
    for (let i = 0; i < count; i++) assert.equal(await tryCall(account), '200');
  }
  /** The values that distinguish the states. */
  async function stateOf(account: TestAccount) {
    const { active, is_active, isValid, remaining } = await snapshotOf(gateway, account);
    return { active, is_active, isValid, remaining };
  }
  async function assertNoPlan(account: TestAccount): Promise<void> {
    const { active, is_active, isValid, remaining, fiveHour, weekly, concurrency, pkg, message } = await snapshotOf(
      gateway,
      account,
    );
    assert.deepEqual([active, is_active, isValid, remaining], [false, false, false, 0]);
    assert.deepEqual([fiveHour, weekly, concurrency, pkg], [null, null, null, null]);
    assert.ok(typeof message === 'string' && message !== '');
  }

  const valid = (remaining: number) => ({ active: true, is_active: true, isValid: true, remaining });
  const exhausted = { active: true, is_active: false, isValid: false, remaining: 0 };

  it('3 no plan: active is false, is_active is false, the plan objects are null, and message is set', async () => {
    for (const balanceYuan of ['0', '100']) {
      const { key } = await gateway.createAccount({ balanceYuan });
      for (const address of addresses.filter(({ work }) => work === 'codingBalance')) {
        const { json } = await askAddress(gateway.url, address, key);
        const { active, is_active, isValid, remaining, fiveHour, weekly, concurrency, pkg, message } = json;
        assert.deepEqual([active, is_active, isValid, remaining], [false, false, false, 0]);
        assert.deepEqual([fiveHour, weekly, concurrency, pkg], [null, null, null, null]);
        assert.ok(typeof message === 'string' && message !== '');
      }
    }
  });

  it('3 a configured plan that was not granted to the account does not apply', async () => {
    const account = await gateway.createAccount();
    await assertNoPlan(account);
    assert.equal(await tryCall(account), 'insufficient_package');
  });

  it('3 plan valid with quota: active, is_active and isValid are true and remaining is above 0', async () => {
    const account = await createSubscriber(gateway, 'coding-pro');
    for (let used = 0; used < 3; used++) {
      assert.deepEqual(await stateOf(account), valid(3 - used));
      await assertCalls(account, 1);
    }
  });

  it('3 plan valid, window exhausted: active is true, is_active and isValid are false and remaining is 0', async () => {
    for (const [planId, calls] of [
      ['coding-pro', 3],
      ['short-week', 2],
    ] as const) {
      const account = await createSubscriber(gateway, planId);
      await assertCalls(account, calls);
      assert.deepEqual(await stateOf(account), exhausted);
      const { message, planName } = await snapshotOf(gateway, account);
      assert.deepEqual([message, planName], [null, `Plan ${planId}`]);
    }
  });

  it('3 the five-hour window recovers by call: each gives its place back five hours after it, not all at once', async () => {
    const account = await createSubscriber(gateway, 'coding-pro');
    for (let hour = 0; hour < 3; hour++) {
      await assertCalls(account, 1);
      clock.advance(HOUR_MS);
    }
    clock.advance(2 * HOUR_MS - 1);
    assert.deepEqual(await stateOf(account), exhausted);
    assert.equal(await tryCall(account), 'package_5h_quota_exhausted');
    clock.advance(1);
    assert.deepEqual(await stateOf(account), valid(1));
    clock.advance(HOUR_MS);
    // The week has 2 of its 5 calls left.
    assert.deepEqual(await stateOf(account), valid(2));
    await assertCalls(account, 2);
    assert.equal((await snapshotOf(gateway, account)).fiveHour.used, 3);
  });

  it('3 resetAt of the five-hour window is five hours from now, whatever is used', async () => {
    const account = await createSubscriber(gateway, 'coding-pro');
    for (let used = 0; used < 3; used++) {
      const { capturedAt, fiveHour } = await snapshotOf(gateway, account);
      assert.equal(Date.parse(fiveHour.resetAt), Date.parse(capturedAt) + 5 * HOUR_MS);
      await assertCalls(account, 1);
      clock.advance(HOUR_MS / 2);
    }
  });

  it('3 the weekly window rolls every seven days from the activation of the plan', async () => {
    const account = await createSubscriber(gateway, 'short-week');
    for (let week = 0; week < 3; week++) {
      const startMs = Date.parse(BEGIN) + week * 7 * DAY_MS;
      clock.set(new Date(startMs).toISOString());
      await assertCalls(account, 2);
      const { weekly } = await snapshotOf(gateway, account);
      assert.deepEqual([Date.parse(weekly.windowStart), Date.parse(weekly.windowEnd)], [startMs, startMs + 7 * DAY_MS]);
      clock.advance(7 * DAY_MS - 1);
      assert.deepEqual(await stateOf(account), exhausted);
      assert.equal(await tryCall(account), 'package_weekly_quota_exhausted');
      clock.advance(1);
      assert.deepEqual(await stateOf(account), valid(2));
    }
  });

  it('3 a call is refused when either window is exhausted, and the provider is not called', async () => {
    for (const [planId, calls, code] of [
      ['coding-pro', 3, 'package_5h_quota_exhausted'],
      ['short-week', 2, 'package_weekly_quota_exhausted'],
    ] as const) {
      const account = await createSubscriber(gateway, planId);
      await assertCalls(account, calls);
      const asked = gateway.provider.requests.length;
      for (let i = 0; i < 3; i++) assert.equal(await tryCall(account), code);
      assert.equal(gateway.provider.requests.length, asked);
      await assertCounted(gateway, account, { calls, tokens: calls * 18 });
    }
  });

  it('3 purchase: with a grant the plan is valid at once, or from its start time', async () => {
    const account = await gateway.createAccount();
    await assertNoPlan(account);
    await subscribe(gateway, account, 'coding-pro');
    assert.deepEqual(await stateOf(account), valid(3));

    const early = await gateway.createAccount();
    await subscribe(gateway, early, 'coding-pro', '2026-11-20T05:00:00Z');
    clock.set('2026-11-20T04:59:59.999Z');
    await assertNoPlan(early);
    assert.equal(await tryCall(early), 'insufficient_package');
    clock.advance(1);
    assert.deepEqual(await stateOf(early), valid(3));
    await assertCalls(early, 1);
  });

  it('3 expiry: at the end of its period the plan is none any more', async () => {
    const account = await createSubscriber(gateway, 'coding-pro');
    clock.advance(30 * DAY_MS - 1);
    assert.deepEqual(await stateOf(account), valid(3));
    await assertCalls(account, 1);
    clock.advance(1);
    await assertNoPlan(account);
    assert.equal(await tryCall(account), 'package_expired');
  });

  it('3 renewal: the plan continues, with the weeks of its first activation and their usage', async () => {
    const account = await gateway.createAccount();
    const id = await subscribe(gateway, account, 'short-week');
    clock.advance(29 * DAY_MS);
    await assertCalls(account, 2);
    assert.equal((await gateway.admin('POST', `/subscriptions/${id}/renewals`)).status, 201);
    clock.advance(2 * DAY_MS);
    assert.deepEqual(await stateOf(account), exhausted);
    const { weekly } = await snapshotOf(gateway, account);
    assert.equal(Date.parse(weekly.windowStart), Date.parse(BEGIN) + 28 * DAY_MS);
    clock.advance(4 * DAY_MS);
    assert.deepEqual(await stateOf(account), valid(2));

    const late = await gateway.createAccount();
    clock.set(BEGIN);
    const lapsed = await subscribe(gateway, late, 'coding-pro');
    clock.advance(31 * DAY_MS);
    await assertNoPlan(late);
    assert.equal((await gateway.admin('POST', `/subscriptions/${lapsed}/renewals`)).status, 201);
    assert.deepEqual(await stateOf(late), valid(3));
  });

  it('3 cancellation: the plan is none at once', async () => {
    const account = await gateway.createAccount();
    const id = await subscribe(gateway, account, 'coding-pro');
    await assertCalls(account, 1);
    assert.equal((await gateway.admin('DELETE', `/subscriptions/${id}`)).status, 204);
    await assertNoPlan(account);
    assert.equal(await tryCall(account), 'insufficient_package');
  });
});
