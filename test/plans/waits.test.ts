import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { after, afterEach, before, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestAccount, type TestGateway, testConfigText } from '../support/gateway.ts';
import { chatResponse, json, messagesResponse } from '../support/provider.ts';
import { responsesResponse } from '../support/responses.ts';
import { createSubscriber, grant, plansText } from './coding.ts';

/** What responses report of limits that reset after some time, and of the windows of their plan. */

const NOON_IN_SHANGHAI = '2026-11-20T04:00:00.000Z';
const HOUR_MS = 3_600_000;

const PLANS = plansText({
  'two-calls': { fiveHourCalls: 2, weeklyCalls: 10, models: ['test-chat', 'test-messages', 'test-responses'] },
  'one-a-week': { fiveHourCalls: 4, weeklyCalls: 1, models: ['test-chat', 'test-messages', 'test-responses'] },
});

const CHAT = '/v1/coding/chat/completions';
const RESPONSES = '/v1/coding/responses';
const MESSAGES = '/altproto/coding/v1/messages';

const BODIES: Readonly<Record<string, object>> = {
  [CHAT]: { model: 'test-chat', messages: [] },
  [RESPONSES]: { model: 'test-responses', input: 'Hello' },
  [MESSAGES]: { model: 'test-messages', max_tokens: 10, messages: [] },
};

const RESPONDS = {
  [CHAT]: chatResponse(),
  [RESPONSES]: responsesResponse(),
  [MESSAGES]: messagesResponse(),
};

describe('a limit that resets after some time', () => {
  const clock = createTestClock(NOON_IN_SHANGHAI);
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ clock, plans: PLANS, server: 'protocolNames: { messages: [altproto] }' });
  });
  after(() => gateway.stop());
  afterEach(() => {
    clock.set(NOON_IN_SHANGHAI);
    reload();
  });

  function reload(server = ''): void {
    const text = testConfigText(gateway.provider.url, { plans: PLANS, server });
    gateway.gateway.reload(parseConfig(text, 'test.yaml', {}));
  }

  function send({ key }: TestAccount, path: keyof typeof RESPONDS, fields: object = {}) {
    gateway.provider.respond = RESPONDS[path];
    return call(gateway.url + path, key, { ...BODIES[path], ...fields });
  }

  const starting = (headers: IncomingHttpHeaders, prefix: string): IncomingHttpHeaders =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith(prefix)));

  for (const path of [CHAT, RESPONSES, MESSAGES] as const) {
    it(`states the instant and the wait in its refusal, and no retry-after that would make agents sleep: ${path}`, async () => {
      const subscriber = await createSubscriber(gateway, 'two-calls');
      assert.equal((await send(subscriber, path)).status, 200);
      clock.advance(2 * 60_000);
      assert.equal((await send(subscriber, path)).status, 200);
      const { status, headers, json: body } = await send(subscriber, path);
      assert.equal(status, 429);
      assert.equal(
        body.error.message,
        'The Coding Plan reached its limit of calls per five hours. This quota is exhausted and will reset at 2026-11-20 17:00 +08:00, in 4 h 58 min.',
      );
      assert.equal(headers['x-faregate-reset-at'], '2026-11-20T09:00:00.000Z');
      assert.equal(headers['retry-after'], undefined);
      assert.equal(headers['x-should-retry'], 'false');
    });
  }

  it('is stated in retry-after once the wait is a minute at most', async () => {
    const subscriber = await createSubscriber(gateway, 'two-calls');
    for (let i = 0; i < 2; i++) await send(subscriber, CHAT);
    clock.advance(5 * HOUR_MS - 60_000);
    const { headers, json: body } = await send(subscriber, CHAT);
    assert.equal(headers['retry-after'], '60');
    assert.match(body.error.message, /This quota is exhausted and will reset at 2026-11-20 17:00 \+08:00, in 1 min\.$/);
  });

  it('is stated in the same way by the caps of a day, which end at midnight in the billing time zone', async () => {
    const capped = await gateway.createAccount({ dailySpendCapYuan: '0' });
    const limited = await gateway.createAccount();
    await gateway.admin('PATCH', `/keys/${limited.keyId}`, { dailyCalls: 0 });
    for (const account of [capped, limited]) {
      const { headers, json: body } = await call(`${gateway.url}/v1/chat/completions`, account.key, BODIES[CHAT]!);
      assert.match(
        body.error.message,
        /This quota is exhausted and will reset at 2026-11-21 00:00 \+08:00, in 12 h\.$/,
      );
      assert.equal(headers['x-faregate-reset-at'], '2026-11-20T16:00:00.000Z');
      assert.equal(headers['retry-after'], undefined);
    }
  });

  it('is reported to Codex by the name that it knows, with the Unix second, on the plan and on the balance', async () => {
    const subscriber = await createSubscriber(gateway, 'one-a-week');
    await send(subscriber, RESPONSES);
    const capped = await gateway.createAccount({ dailySpendCapYuan: '0' });
    for (const [account, path, code, resetsAt] of [
      [subscriber, RESPONSES, 'package_weekly_quota_exhausted', '2026-11-27T04:00:00Z'],
      [capped, '/v1/responses', 'balance_daily_limit_exceeded', '2026-11-20T16:00:00Z'],
    ] as const) {
      const { status, json: body } = await call(gateway.url + path, account.key, BODIES[RESPONSES]!);
      assert.equal(status, 429);
      assert.deepEqual(body.error, {
        message: body.error.message,
        type: 'usage_limit_reached',
        param: null,
        code,
        resets_at: Date.parse(resetsAt) / 1_000,
      });
    }
  });

  it('reports the windows to Codex, with successes and with the refusal', async () => {
    const subscriber = await createSubscriber(gateway, 'two-calls');
    const seconds = (iso: string): string => String(Date.parse(iso) / 1_000);
    for (const [status, five, week] of [
      [200, '50', '10'],
      [200, '100', '20'],
      [429, '100', '20'],
    ] as const) {
      const response = await send(subscriber, RESPONSES);
      assert.equal(response.status, status);
      assert.deepEqual(starting(response.headers, 'x-codex-'), {
        'x-codex-primary-used-percent': five,
        'x-codex-primary-window-minutes': '300',
        'x-codex-primary-reset-at': seconds('2026-11-20T09:00:00Z'),
        'x-codex-secondary-used-percent': week,
        'x-codex-secondary-window-minutes': '10080',
        'x-codex-secondary-reset-at': seconds('2026-11-27T04:00:00Z'),
      });
    }
  });

  it('reports the windows to agents that use messages, with successes and with the refusal', async () => {
    const subscriber = await createSubscriber(gateway, 'two-calls');
    const [reset, weekReset] = ['2026-11-20T09:00:00Z', '2026-11-27T04:00:00Z'].map((iso) =>
      String(Date.parse(iso) / 1_000),
    );
    for (const [status, five, week, verdict] of [
      [200, '0.5', '0.1', 'allowed'],
      [200, '1', '0.2', 'allowed_warning'],
      [429, '1', '0.2', 'rejected'],
    ] as const) {
      const response = await send(subscriber, MESSAGES);
      assert.equal(response.status, status);
      const prefix = 'anthropic-ratelimit-unified-';
      assert.deepEqual(starting(response.headers, prefix), {
        [`${prefix}status`]: verdict,
        [`${prefix}reset`]: reset,
        [`${prefix}representative-claim`]: 'five_hour',
        [`${prefix}5h-status`]: verdict,
        [`${prefix}5h-utilization`]: five,
        [`${prefix}5h-reset`]: reset,
        ...(five === '1' && { [`${prefix}5h-surpassed-threshold`]: '0.95' }),
        [`${prefix}7d-status`]: 'allowed',
        [`${prefix}7d-utilization`]: week,
        [`${prefix}7d-reset`]: weekReset,
      });
    }
  });

  it('reports no windows if the balance pays, nor to clients of chat', async () => {
    const account = await gateway.createAccount();
    await grant(gateway, account.id, 'two-calls');
    for (const [path, like] of [
      ['/v1/responses', RESPONSES],
      ['/v1/messages', MESSAGES],
      [CHAT, CHAT],
    ] as const) {
      gateway.provider.respond = RESPONDS[like];
      const { status, headers } = await call(gateway.url + path, account.key, BODIES[like]!);
      assert.equal(status, 200);
      assert.deepEqual({ ...starting(headers, 'x-codex-'), ...starting(headers, 'anthropic-') }, {});
    }
  });

  it("does not forward the windows of the operator's own subscription, but other limits of a provider", async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = json(
      429,
      { type: 'error', error: { type: 'rate_limit_error', message: 'Busy.' } },
      {
        'retry-after': '18000',
        'anthropic-ratelimit-requests-remaining': '3',
        'anthropic-ratelimit-unified-5h-utilization': '0.99',
      },
    );
    const { headers } = await call(`${gateway.url}/v1/messages`, account.key, BODIES[MESSAGES]!);
    assert.equal(headers['retry-after'], '18000');
    assert.deepEqual(starting(headers, 'anthropic-'), { 'anthropic-ratelimit-requests-remaining': '3' });
  });

  it('has its instant in the snapshot of the plan, and none while calls remain', async () => {
    const subscriber = await createSubscriber(gateway, 'two-calls');
    const resetAt = async (): Promise<string | null> => {
      const response = await fetch(`${gateway.url}/v1/coding/user/balance`, {
        headers: { authorization: `Bearer ${subscriber.key}` },
      });
      await response.arrayBuffer();
      return response.headers.get('x-faregate-reset-at');
    };
    await send(subscriber, CHAT);
    assert.equal(await resetAt(), null);
    clock.advance(HOUR_MS);
    await send(subscriber, CHAT);
    assert.equal(await resetAt(), '2026-11-20T09:00:00.000Z');
    clock.advance(4 * HOUR_MS);
    assert.equal(await resetAt(), null);
    // The expired slot is replaced by this one; the older of the two that count is the second.
    await send(subscriber, CHAT);
    assert.equal(await resetAt(), '2026-11-20T10:00:00.000Z');
  });

  it('has no headers of its own if the configuration switches them off, and the same message', async () => {
    reload('callHeaders: false');
    const subscriber = await createSubscriber(gateway, 'two-calls');
    for (const status of [200, 200, 429]) {
      const { status: responded, headers } = await send(subscriber, RESPONSES);
      assert.equal(responded, status);
      assert.deepEqual({ ...starting(headers, 'x-codex-'), ...starting(headers, 'x-faregate-') }, {});
    }
    assert.match((await send(subscriber, RESPONSES)).json.error.message, /, in 5 h\.$/);
  });
});
