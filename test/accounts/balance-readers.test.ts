import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, json } from '../support/provider.ts';

/**
 * Tools that show the remaining funds at a provider read them with small scripts: a GET of `{{baseUrl}}/user/balance` with the key as
 * Bearer, and a function that turns the response into what the tool shows. They accept numbers, booleans and strings, nothing else: a
 * number in quotes is an error to them, and any status but 2xx is shown as a failure.
 */

const NOW = '2026-11-20T04:00:00.000Z';
const PLANS = `
plans:
  coder: { name: Coder, fiveHourCalls: 3, weeklyCalls: 4, concurrency: 2, quotaTokens: 100000, periodDays: 30, models: [test-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }
  tiny: { name: Tiny, fiveHourCalls: 3, weeklyCalls: 4, concurrency: 2, quotaTokens: 18, periodDays: 30, models: [test-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }
`;

/** The base addresses as users enter them: some with a slash at the end. */
const BALANCE_BASES = ['', '/', '/v1', '/v1/'];
const PLAN_BASES = [
  '/v1/coding',
  '/v1/coding/',
  '/altproto',
  '/altproto/v1',
  '/altproto/coding',
  '/altproto/coding/v1',
  '/v1/coding/altproto',
];

/** The template that such a tool offers for providers in general. */
const GENERAL = `({
  request: {
    url: "{{baseUrl}}/user/balance",
    method: "GET",
    headers: { "Authorization": "Bearer {{apiKey}}", "User-Agent": "cc-switch/1.0" }
  },
  extractor: function (response) {
    return { isValid: response.is_active || true, remaining: response.balance, unit: "USD" };
  }
})`;

/** The same as users change it: the reported validity, the unit, and the total. */
const DETAILED = GENERAL.replace(
  /return \{.*\};/,
  `return {
      isValid: response.isValid === undefined ? response.is_active : response.isValid,
      invalidMessage: response.message || null,
      remaining: response.balance,
      total: response.quota === undefined ? null : response.quota,
      used: response.usedQuota === undefined ? null : response.usedQuota,
      unit: response.unit,
      planName: response.planName || null
    };`,
);

interface Reading {
  readonly isValid: boolean;
  readonly invalidMessage?: string | null;
  readonly remaining: number;
  readonly total?: number | null;
  readonly used?: number | null;
  readonly unit: string;
  readonly planName?: string | null;
}

const RESULT_TYPES: Readonly<Record<keyof Reading, string>> = {
  isValid: 'boolean',
  invalidMessage: 'string',
  remaining: 'number',
  total: 'number',
  used: 'number',
  unit: 'string',
  planName: 'string',
};

/** Runs a script like such a tool, and accepts of its result what such a tool accepts. */
async function read(url: string, base: string, key: string, script: string): Promise<Reading> {
  const text = script.replaceAll('{{baseUrl}}', (url + base).replace(/\/+$/, '')).replaceAll('{{apiKey}}', key);
  const { request } = runInContext(text, createContext({}), { timeout: 5_000 });
  const response = await fetch(request.url, { method: request.method, headers: request.headers, redirect: 'error' });
  const body = await response.text();
  assert.equal(response.status, 200, `${base}: ${body}`);
  // The script receives the response as JSON and returns JSON.
  const context = createContext({ body });
  const reading = JSON.parse(
    runInContext(`JSON.stringify((${text}).extractor(JSON.parse(body)))`, context, { timeout: 5_000 }),
  );
  for (const [field, value] of Object.entries(reading)) {
    if (value !== null) assert.equal(typeof value, RESULT_TYPES[field as keyof Reading], `${base}: ${field}`);
  }
  return reading;
}

/** Reads as older tools do, from the former addresses of OpenAI. */
async function readFormerly(base: string, key: string): Promise<number> {
  const get = async (path: string) => {
    const response = await fetch(`${base}/dashboard/billing/${path}`, { headers: { authorization: `Bearer ${key}` } });
    assert.equal(response.status, 200);
    return response.json() as Promise<Record<string, number>>;
  };
  const subscription = await get('subscription');
  const usage = await get('usage?start_date=2026-11-01&end_date=2026-11-22');
  return subscription.hard_limit_usd! - usage.total_usage! / 100;
}

describe('tools that read balances', { timeout: 60_000 }, () => {
  const clock = createTestClock(NOW);
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ clock, plans: PLANS });
  });
  after(() => g.stop());

  const grant = async (account: TestAccount, planId = 'coder'): Promise<void> => {
    const { status } = await g.admin('POST', `/accounts/${account.id}/subscriptions`, { planId });
    assert.equal(status, 201);
  };
  const send = async (account: TestAccount, path: string, model = 'test-chat'): Promise<number> => {
    const response = await call(g.url + path, account.key, { model, messages: [] });
    return response.status;
  };
  /** Reads at each of the base addresses, which must agree; returns the result. */
  async function readAll(account: TestAccount, bases: readonly string[], script: string): Promise<Reading> {
    const readings = await Promise.all(bases.map((base) => read(g.url, base, account.key, script)));
    for (const [i, reading] of readings.entries()) assert.deepEqual(reading, readings[0], bases[i]);
    return readings[0]!;
  }

  describe('the money of an account', () => {
    it('is read as a number of yuan at every base address that draws on it', async () => {
      const account = await g.createAccount({ balanceYuan: '12.345678' });
      assert.deepEqual(await readAll(account, BALANCE_BASES, GENERAL), {
        isValid: true,
        remaining: 12.345678,
        unit: 'USD',
      });
      assert.deepEqual(await readAll(account, BALANCE_BASES, DETAILED), {
        isValid: true,
        invalidMessage: null,
        remaining: 12.345678,
        total: null,
        used: null,
        unit: 'CNY',
        planName: null,
      });
    });

    it('is what remains after a call', async () => {
      const account = await g.createAccount({ balanceYuan: '1' });
      const respond = g.provider.respond;
      // At ¥3 and ¥13 per million: ¥0.65.
      g.provider.respond = json(
        200,
        chatCompletion({ prompt_tokens: 13, completion_tokens: 49_997, total_tokens: 50_010 }),
      );
      assert.equal(await send(account, '/v1/chat/completions', 'test-both'), 200);
      assert.equal((await readAll(account, BALANCE_BASES, GENERAL)).remaining, 0.35);
      assert.equal(await send(account, '/v1/chat/completions', 'test-both'), 200);
      g.provider.respond = respond;
      for (const root of ['', '/v1', '/v1/v1']) assert.equal(await readFormerly(g.url + root, account.key), -0.3);
      const overdrawn = await readAll(account, BALANCE_BASES, DETAILED);
      assert.deepEqual([overdrawn.isValid, overdrawn.remaining], [false, -0.3]);
    });
  });

  describe('the Coding Plan of an account', () => {
    it('is read in calls at every base address that draws on it', async () => {
      const account = await g.createAccount({ balanceYuan: '0' });
      await grant(account);
      assert.deepEqual(await readAll(account, PLAN_BASES, GENERAL), { isValid: true, remaining: 3, unit: 'USD' });
      assert.equal(await send(account, '/v1/coding/chat/completions'), 200);
      assert.deepEqual(await readAll(account, PLAN_BASES, DETAILED), {
        isValid: true,
        invalidMessage: null,
        remaining: 2,
        total: 3,
        used: 1,
        unit: 'calls',
        planName: 'Coder',
      });
    });

    it('is 0 and invalid when its calls are used up, until the first of them expires from the window', async () => {
      clock.set(NOW);
      const account = await g.createAccount();
      await grant(account);
      for (let n = 0; n < 3; n++) assert.equal(await send(account, '/v1/coding/chat/completions'), 200);
      const exhausted = await readAll(account, PLAN_BASES, DETAILED);
      assert.deepEqual(
        [exhausted.isValid, exhausted.remaining, exhausted.total, exhausted.used, exhausted.planName],
        [false, 0, 3, 3, 'Coder'],
      );
      assert.equal(await send(account, '/v1/coding/chat/completions'), 429);
      clock.advance(5 * 3_600_000);
      const { isValid, remaining, used } = await readAll(account, PLAN_BASES, DETAILED);
      // One is left of the week.
      assert.deepEqual([isValid, remaining, used], [true, 1, 0]);
    });

    it('is 0 and not valid when its tokens are used up, whatever calls remain', async () => {
      const account = await g.createAccount();
      await grant(account, 'tiny');
      assert.equal(await send(account, '/v1/coding/chat/completions'), 200);
      const { isValid, remaining } = await readAll(account, PLAN_BASES, DETAILED);
      assert.deepEqual([isValid, remaining], [false, 0]);
      assert.equal(await send(account, '/v1/coding/chat/completions'), 402);
    });

    it('is 0 with a reason if there is none, or if it has not begun, has expired or was canceled', async () => {
      clock.set(NOW);
      const without = { isValid: false, remaining: 0, total: 0, used: 0, unit: 'calls', planName: null };
      const account = await g.createAccount();
      const subscriptions = `/accounts/${account.id}/subscriptions`;
      assert.deepEqual(await readAll(account, PLAN_BASES, DETAILED), {
        ...without,
        invalidMessage: 'This account has no Coding Plan.',
      });
      assert.deepEqual(await readAll(account, PLAN_BASES, GENERAL), { isValid: true, remaining: 0, unit: 'USD' });

      await g.admin('POST', subscriptions, { planId: 'coder', startsAt: '2026-12-01T00:00:00Z' });
      assert.deepEqual(await readAll(account, PLAN_BASES, DETAILED), {
        ...without,
        invalidMessage: 'The plan Coder begins at 2026-12-01T00:00:00.000Z.',
      });
      clock.set('2026-12-31T00:00:00Z');
      assert.deepEqual(await readAll(account, PLAN_BASES, DETAILED), {
        ...without,
        invalidMessage: 'The plan Coder expired at 2026-12-31T00:00:00.000Z.',
      });
      const { id } = (await g.admin('POST', subscriptions, { planId: 'coder' })).body;
      assert.equal((await readAll(account, PLAN_BASES, DETAILED)).isValid, true);
      await g.admin('DELETE', `/subscriptions/${id}`);
      assert.equal((await readAll(account, PLAN_BASES, DETAILED)).isValid, false);
    });
  });

  it('get a short JSON error with a visible status if the key is wrong', async () => {
    for (const base of [...BALANCE_BASES, ...PLAN_BASES]) {
      const response = await fetch(`${(g.url + base).replace(/\/+$/, '')}/user/balance`, {
        headers: { authorization: 'Bearer sk-of-something-else', 'user-agent': 'cc-switch/1.0' },
      });
      assert.equal(response.status, 401, base);
      const text = await response.text();
      assert.match(text.slice(0, 200), /invalid_api_key/);
    }
  });

  it('get JSON from a plain GET of every base address', async () => {
    for (const base of [...BALANCE_BASES, ...PLAN_BASES]) {
      const response = await fetch(`${g.url}${base}`, { headers: { 'accept-encoding': 'identity' } });
      assert.ok(response.status < 500, base);
      assert.equal(typeof (await response.json()), 'object');
    }
  });
});
