import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CODING_CHAT, grant } from '../plans/coding.ts';
import type { ClientResponse } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { bodyAt, CHAT, coderAnd, responseAnything, send } from '../support/limited-calls.ts';
import { chatUsage } from '../support/provider.ts';
import { assertWait } from '../support/waits.ts';

/** The limits of single keys of an account: spending and calls of a day, and concurrent calls. */

const NOON_IN_SHANGHAI = '2026-11-20T04:00:00.000Z';
const SECONDS_TO_MIDNIGHT = 12 * 3_600;
const PLANS = coderAnd({ narrow: { models: ['test-chat'], concurrency: 1, queue: { length: 1, wait: '60s' } } });

const CALL_COST = costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens });
const CODING_MESSAGES = '/altproto/v1/messages';

interface Limits {
  readonly dailySpendCapYuan?: string | null;
  readonly weeklySpendCapYuan?: string | null;
  readonly monthlySpendCapYuan?: string | null;
  readonly totalSpendCapYuan?: string | null;
  readonly dailyCalls?: number | null;
  readonly concurrency?: number | null;
}

interface LimitedKey {
  readonly id: string;
  readonly key: string;
}

async function createKey(g: TestGateway, account: TestAccount, limits: Limits): Promise<LimitedKey> {
  const { status, body } = await g.admin('POST', `/accounts/${account.id}/keys`, { name: 'limited', ...limits });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

async function changeKey(g: TestGateway, { id }: LimitedKey, limits: Limits): Promise<void> {
  const { status, body } = await g.admin('PATCH', `/keys/${id}`, limits);
  assert.equal(status, 200, JSON.stringify(body));
}

interface Refusal {
  readonly code: string;
  readonly retry: boolean;
  readonly retryAfter: number;
}

function assertLimited(response: ClientResponse, { code, retry, retryAfter }: Refusal): void {
  assert.equal(response.status, 429, response.text);
  assert.equal(response.json.error.code ?? response.headers['x-error-code'], code);
  assert.equal(response.headers['x-error-code'], code);
  assert.equal(response.headers['x-should-retry'], String(retry));
  if (retry) assert.equal(response.headers['retry-after'], String(retryAfter));
  else assertWait(response, retryAfter);
}

const spendLimited = { code: 'key_daily_spend_limit_exceeded', retry: false, retryAfter: SECONDS_TO_MIDNIGHT };
const callsLimited = { code: 'key_daily_calls_limit_exceeded', retry: false, retryAfter: SECONDS_TO_MIDNIGHT };
const concurrencyLimited = { code: 'key_concurrency_limited', retry: true, retryAfter: 2 };

/** Calls in flight of a key, as they are stored. */
async function inFlight(g: TestGateway, key: LimitedKey): Promise<number> {
  const [row] = await g.database.query<{ n: number }>(
    { name: 'test.key-in-flight', text: 'select in_flight::int as n from key_limits where key_id = $1' },
    [key.id],
  );
  return row!.n;
}

describe('the limits of a key', { timeout: 300_000 }, () => {
  const clock = createTestClock(NOON_IN_SHANGHAI);
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ clock, plans: PLANS });
    g.provider.respond = responseAnything;
  });
  after(async () => {
    const [left] = await g.database.query({
      name: 'test.key-reservations',
      text: 'select count(*)::int as n from reservations',
    });
    await g.stop();
    assert.deepEqual(left, { n: 0 });
  });

  it('are absent by default, and nothing is counted', async () => {
    const account = await g.createAccount();
    for (let n = 1; n <= 5; n++) assert.equal((await send(g, account.key, CHAT)).status, 200);
    await assertSpent(account, 5n * CALL_COST);
    const rows = await g.database.query({ name: 'test.key-rows', text: 'select from key_limits where key_id = $1' }, [
      account.keyId,
    ]);
    assert.equal(rows.length, 0);
  });

  it('stop a key at its spending of the day, but neither the account’s other keys nor its coding calls', async () => {
    clock.set(NOON_IN_SHANGHAI);
    const account = await g.createAccount();
    await grant(g, account.id, 'coder');
    // Two calls reach it to the nano-yuan.
    const key = await createKey(g, account, { dailySpendCapYuan: '0.000248' });
    assert.equal((await send(g, key.key, CHAT)).status, 200);
    assert.equal((await send(g, key.key, CHAT)).status, 200);
    const asked = g.provider.requests.length;
    const refused = await send(g, key.key, CHAT);
    assertLimited(refused, spendLimited);
    assert.equal(refused.json.error.type, 'insufficient_quota');
    assert.match(refused.json.error.message, /^This API key reached its spending limit for today\./);
    assert.equal(g.provider.requests.length, asked);
    await assertSpent(account, 2n * CALL_COST);

    for (const path of [CODING_CHAT, CODING_MESSAGES]) assert.equal((await send(g, key.key, path)).status, 200);
    assert.equal((await send(g, account.key, CHAT)).status, 200);
    assertLimited(await send(g, key.key, CHAT), spendLimited);
    await assertSpent(account, 3n * CALL_COST);
  });

  it('count the calls of the day at balance and coding addresses together, and nothing that is no call', async () => {
    clock.set(NOON_IN_SHANGHAI);
    const account = await g.createAccount();
    await grant(g, account.id, 'coder');
    const key = await createKey(g, account, { dailyCalls: 3 });
    const free = async () => {
      for (const path of ['/v1/user/balance', '/v1/coding/user/balance', '/v1/models']) {
        const response = await fetch(g.url + path, { headers: { authorization: `Bearer ${key.key}` } });
        await response.text();
        assert.equal(response.status, 200, path);
      }
      const estimate = await send(g, key.key, '/v1/messages/count_tokens', bodyAt(CODING_MESSAGES));
      assert.equal(estimate.status, 200, estimate.text);
    };
    await free();
    for (const path of [CHAT, CODING_CHAT, CODING_MESSAGES]) assert.equal((await send(g, key.key, path)).status, 200);
    const asked = g.provider.requests.length;
    for (const path of [CHAT, CODING_CHAT]) {
      const refused = await send(g, key.key, path);
      assertLimited(refused, callsLimited);
      assert.equal(refused.json.error.type, 'insufficient_quota');
    }
    const refused = await send(g, key.key, CODING_MESSAGES);
    assertLimited(refused, callsLimited);
    assert.equal(refused.json.error.type, 'billing_error');
    assert.equal(g.provider.requests.length, asked);
    await free();
    assert.equal((await send(g, account.key, CODING_CHAT)).status, 200);
    await assertSpent(account, CALL_COST);
  });

  it('are not used by a call that the balance or the plan of the account refuses', async () => {
    clock.set(NOON_IN_SHANGHAI);
    const account = await g.createAccount({ balanceYuan: '0' });
    const key = await createKey(g, account, { dailyCalls: 1, dailySpendCapYuan: '0.000000001', concurrency: 1 });
    const asked = g.provider.requests.length;
    for (let n = 0; n < 3; n++) {
      const poor = await send(g, key.key, CHAT);
      assert.deepEqual([poor.status, poor.json.error.code], [402, 'insufficient_balance']);
      const planless = await send(g, key.key, CODING_CHAT);
      assert.deepEqual([planless.status, planless.json.error.code], [402, 'insufficient_package']);
    }
    assert.equal(g.provider.requests.length, asked);
    await g.admin('POST', `/accounts/${account.id}/top-ups`, { amountYuan: '100' });
    assert.equal((await send(g, key.key, CHAT)).status, 200);
    // The limit of the key is the first reason, even where the account would refuse too.
    assertLimited(await send(g, key.key, CODING_CHAT), callsLimited);
    await assertSpent(account, CALL_COST);
  });

  it('are not used by a coding call that is queued on the plan, until it is admitted', async () => {
    clock.set(NOON_IN_SHANGHAI);
    const account = await g.createAccount();
    await grant(g, account.id, 'narrow');
    const key = await createKey(g, account, { concurrency: 1, dailyCalls: 2 });
    const gate = Promise.withResolvers<void>();
    g.provider.respond = async (request, response) => {
      await gate.promise;
      await responseAnything(request, response);
    };
    const received = g.provider.requests.length;
    const first = send(g, account.key, CODING_CHAT);
    await g.provider.received(received + 1);
    const queued = send(g, key.key, CODING_CHAT);
    while (g.gateway.callsWaiting(account.id) < 1) await new Promise(setImmediate);
    assert.equal(await inFlight(g, key), 0);

    g.provider.respond = responseAnything;
    assert.equal((await send(g, key.key, CHAT)).status, 200);
    assert.equal(g.gateway.callsWaiting(account.id), 1);
    gate.resolve();
    for (const response of [first, queued]) assert.equal((await response).status, 200);
    assertLimited(await send(g, key.key, CHAT), callsLimited);
    assert.equal(await inFlight(g, key), 0);
  });

  it('are checked after the request itself, whose faults are reported first', async () => {
    const account = await g.createAccount();
    const key = await createKey(g, account, { dailyCalls: 0, dailySpendCapYuan: '0', concurrency: 0 });
    const unknown = await send(g, key.key, CHAT, { ...bodyAt(CHAT), model: 'no-such-model' });
    assert.deepEqual([unknown.status, unknown.json.error.code], [404, 'model_not_found']);
    clock.set(NOON_IN_SHANGHAI);
    assertLimited(await send(g, key.key, CHAT), spendLimited);
    assertLimited(await send(g, key.key, CODING_CHAT), callsLimited);
    await changeKey(g, key, { dailyCalls: null });
    assertLimited(await send(g, key.key, CODING_CHAT), concurrencyLimited);
  });

  it('cap its spending per week, per month and in total, and report when they reset', async () => {
    const account = await g.createAccount();
    const yuan = '0.000000001';
    // In Shanghai 20 November 2026 is a Friday, and the last day of the month ends on a Tuesday.
    for (const [limits, code, resetAt] of [
      [{ weeklySpendCapYuan: yuan }, 'key_weekly_spend_limit_exceeded', '2026-11-22T16:00:00.000Z'],
      [{ monthlySpendCapYuan: yuan }, 'key_monthly_spend_limit_exceeded', '2026-11-30T16:00:00.000Z'],
      [{ totalSpendCapYuan: yuan }, 'key_total_spend_limit_exceeded', undefined],
    ] as const) {
      clock.set(NOON_IN_SHANGHAI);
      const key = await createKey(g, account, limits);
      assert.equal((await send(g, key.key, CHAT)).status, 200);
      const refused = await send(g, key.key, CHAT);
      assert.deepEqual(
        [refused.status, refused.headers['x-error-code'], refused.headers['x-should-retry']],
        [429, code, 'false'],
      );
      assert.equal(refused.headers['x-faregate-reset-at'], resetAt);
      assert.equal(refused.headers['retry-after'], undefined);
      if (resetAt === undefined) continue;
      clock.set(new Date(Date.parse(resetAt) - 1).toISOString());
      assert.equal((await send(g, key.key, CHAT)).status, 429);
      clock.set(resetAt);
      assert.equal((await send(g, key.key, CHAT)).status, 200);
    }
  });
});

describe(`50 calls of one key at once`, { timeout: 60_000 }, () => {
  const clock = createTestClock(NOON_IN_SHANGHAI);
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ clock, plans: PLANS });
    g.provider.respond = responseAnything;
  });
  after(() => g.stop());

  const race = (key: LimitedKey): Promise<ClientResponse[]> =>
    Promise.all(Array.from({ length: 50 }, (_, i) => send(g, key.key, i % 2 === 0 ? CHAT : CODING_CHAT)));

  it('are never more than its ten calls of the day, at balance and coding addresses together', async () => {
    const account = await g.createAccount();
    await grant(g, account.id, 'coder');
    const key = await createKey(g, account, { dailyCalls: 10 });
    const asked = g.provider.requests.length;
    const responses = await race(key);
    assert.equal(responses.filter(({ status }) => status === 200).length, 10);
    assert.equal(g.provider.requests.length, asked + 10);
    for (const response of responses) if (response.status !== 200) assertLimited(response, callsLimited);
    const charged = responses.filter(({ status }, i) => status === 200 && i % 2 === 0).length;
    await assertSpent(account, BigInt(charged) * CALL_COST);
    assert.equal(await inFlight(g, key), 0);
  });

  it('are never more than ten at the same time', async () => {
    const account = await g.createAccount();
    await grant(g, account.id, 'coder');
    const key = await createKey(g, account, { concurrency: 10 });
    const gate = Promise.withResolvers<void>();
    let atOnce = 0;
    let mostAtOnce = 0;
    g.provider.respond = async (request, response) => {
      mostAtOnce = Math.max(mostAtOnce, ++atOnce);
      await gate.promise;
      atOnce--;
      await responseAnything(request, response);
    };
    let refused = 0;
    const othersRefused = Promise.withResolvers<void>();
    const asked = g.provider.requests.length;
    const racing = Array.from({ length: 50 }, async (_, i) => {
      const response = await send(g, key.key, i % 2 === 0 ? CHAT : CODING_CHAT);
      if (response.status !== 200 && ++refused === 40) othersRefused.resolve();
      return response;
    });
    // The admitted calls go on once all of them are in flight and all others have been refused.
    await Promise.all([othersRefused.promise, g.provider.received(asked + 10)]);
    gate.resolve();
    const responses = await Promise.all(racing);
    g.provider.respond = responseAnything;
    assert.equal(mostAtOnce, 10);
    assert.equal(responses.filter(({ status }) => status === 200).length, 10);
    for (const response of responses) {
      if (response.status === 200) continue;
      assertLimited(response, concurrencyLimited);
      assert.equal(response.json.error.type, 'rate_limit_error');
    }
    assert.equal(await inFlight(g, key), 0);
    assert.ok((await race(key)).some(({ status }) => status === 200));
  });

  it('overdraw its spending of the day by one call at most', async () => {
    const account = await g.createAccount();
    const key = await createKey(g, account, { dailySpendCapYuan: '0.000000001' });
    const responses = await Promise.all(Array.from({ length: 50 }, () => send(g, key.key, CHAT)));
    assert.equal(responses.filter(({ status }) => status === 200).length, 1);
    for (const response of responses) {
      if (response.status === 200) continue;
      // It depends on whether the call that uses all of it has ended by then.
      const isHeld = response.headers['x-should-retry'] === 'true';
      assertLimited(response, isHeld ? { ...spendLimited, retry: true, retryAfter: 2 } : spendLimited);
    }
    await assertSpent(account, CALL_COST);
  });
});

describe('the limits of a key on two nodes', { timeout: 60_000 }, () => {
  const clock = createTestClock(NOON_IN_SHANGHAI);
  let first: TestGateway;
  let second: TestGateway;
  before(async () => {
    first = await startGateway({ clock, plans: PLANS });
    second = await startGateway({ clock, plans: PLANS, stored: first.stored, database: first.stored.openAnother() });
  });
  after(async () => {
    await second?.stop();
    await first?.stop();
  });

  // The clock stands still, so nothing in the second node's cache expires: it has to be notified of the change.
  it('apply on the other node when they are set, changed and taken away on one', async () => {
    const account = await first.createAccount();
    const key = { id: account.keyId, key: account.key };
    const untilSecondResponses = async (status: number): Promise<ClientResponse> => {
      for (;;) {
        const response = await send(second, key.key, CHAT);
        if (response.status === status) return response;
      }
    };
    assert.equal((await send(second, key.key, CHAT)).status, 200);
    await changeKey(first, key, { dailyCalls: 0 });
    assertLimited(await untilSecondResponses(429), callsLimited);
    await changeKey(first, key, { dailyCalls: null, dailySpendCapYuan: '0' });
    assertLimited(await send(second, key.key, CHAT), spendLimited);
    await changeKey(first, key, { dailySpendCapYuan: null });
    await untilSecondResponses(200);
  });
});
