import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { CALL_TOKENS, CODING_CHAT, codingBody, grant, plansText } from '../plans/coding.ts';
import { call } from '../support/client.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { startGateway, type TestAccount, type TestGateway, testConfigText } from '../support/gateway.ts';
import { CHAT, send } from '../support/limited-calls.ts';
import { chatResponse } from '../support/provider.ts';

/** The database's clock is wrong for one call, and terms change and change back: limits follow the present clock and terms. */

const NOON = '2026-11-20T04:00:00.000Z';

describe(`a clock that is wrong for a call`, { timeout: 120_000 }, () => {
  const warned: unknown[] = [];
  const logger: Logger = { ...silentLogger, warn: (details) => void warned.push(details) };
  let clock: TestClock;
  let g: TestGateway;
  before(async () => {
    clock = createTestClock(NOON);
    g = await startGateway({ clock, logger });
    g.provider.respond = chatResponse();
  });
  after(() => g.stop());

  const codeOf = async (account: TestAccount): Promise<string> => {
    const { status, headers } = await send(g, account.key, CHAT);
    return status === 200 ? 'served' : `${headers['x-error-code']} until ${headers['x-faregate-reset-at']}`;
  };

  /** Three calls; the first of them while the clock is 100 days ahead. */
  async function threeCalls(account: TestAccount): Promise<string[]> {
    clock.set(NOON);
    clock.advance(100 * 86_400_000);
    const first = await codeOf(account);
    clock.set(NOON);
    return [first, await codeOf(account), await codeOf(account), await codeOf(account)];
  }

  const limited: readonly [string, object, string][] = [
    ['the calls of a day of a key', { dailyCalls: 2 }, 'key_daily_calls_limit_exceeded until 2026-11-20T16:00:00.000Z'],
    [
      'the budget of a day of a key',
      { dailySpendCapYuan: '0.0002' },
      'key_daily_spend_limit_exceeded until 2026-11-20T16:00:00.000Z',
    ],
    [
      'the budget of a week of a key',
      { weeklySpendCapYuan: '0.0002' },
      'key_weekly_spend_limit_exceeded until 2026-11-22T16:00:00.000Z',
    ],
    [
      'the budget of a month of a key',
      { monthlySpendCapYuan: '0.0002' },
      'key_monthly_spend_limit_exceeded until 2026-11-30T16:00:00.000Z',
    ],
    ['requests a minute', { requestsPerMinute: 2 }, 'rate_limit_exceeded until 2026-11-20T04:00:30.000Z'],
  ];
  for (const [name, limits, refusal] of limited) {
    it(`does not delay the reset of ${name}`, async () => {
      clock.set(NOON);
      const account = await g.createAccount();
      assert.equal((await g.admin('PATCH', `/keys/${account.keyId}`, limits)).status, 200);
      const seen = warned.length;
      assert.deepEqual(await threeCalls(account), ['served', 'served', 'served', refusal]);
      assert.match(JSON.stringify(warned.slice(seen)), new RegExp(`${account.id}.*"beganAt":"202[67]`));
    });
  }
});

describe(`terms that change and change back`, { timeout: 120_000 }, () => {
  it('leave a plan the usage of the present period, and a renamed model its limits', async () => {
    const clock = createTestClock(NOON);
    const tokens = (periodDays: number) => plansText({ tokens: { quotaTokens: 2 * CALL_TOKENS - 1, periodDays } });
    const model = (id: string, alias: string) => `
  ${id}:
    aliases: [${alias}]
    operations: [chat]
    maxOutputTokens: 100
    price: { input: "3", cachedInput: "0.7", cacheWrite: "5", cacheWrite1h: "11", output: "13" }
    routes: [{ provider: chatty, model: upstream-chat }]
`;
    const g = await startGateway({ clock, plans: tokens(30), models: model('deep', 'deeper') });
    const account = await g.createAccount();
    await grant(g, account.id, 'tokens');
    const reload = (periodDays: number, id: string, alias: string): void => {
      const parts = { plans: tokens(periodDays), models: model(id, alias) };
      g.gateway.reload(parseConfig(testConfigText(g.provider.url, parts), 'test.yaml', {}));
    };
    try {
      g.provider.respond = chatResponse();
      const coding = async () => (await call(g.url + CODING_CHAT, account.key, codingBody)).headers;
      const deep = async () =>
        (await call(g.url + CHAT, account.key, { model: 'deep', messages: [{ role: 'user', content: 'Hi' }] })).status;
      clock.advance(10 * 86_400_000);
      reload(1, 'deep', 'deeper');
      assert.equal((await coding())['x-error-code'], undefined);
      assert.equal((await coding())['x-error-code'], undefined);
      assert.equal((await coding())['x-faregate-reset-at'], '2026-12-01T04:00:00.000Z');
      reload(30, 'deep', 'deeper');
      assert.equal((await coding())['x-faregate-reset-at'], '2026-12-20T04:00:00.000Z');

      const limits = { modelLimits: { deep: { requestsPerMinute: 2 } } };
      assert.equal((await g.admin('PATCH', `/accounts/${account.id}`, limits)).status, 200);
      assert.deepEqual([await deep(), await deep(), await deep()], [200, 200, 429]);
      reload(30, 'deep-2', 'deep');
      assert.equal(await deep(), 429);
      const read = async () => (await g.admin('GET', `/accounts/${account.id}`)).body.modelLimits;
      assert.deepEqual(await read(), { 'deep-2': { requestsPerMinute: 2, tokensPerMinute: null } });
      clock.advance(30_000);
      assert.deepEqual([await deep(), await deep()], [200, 429]);
      // The limit set now replaces the one set under the old name; setting other limits keeps the usage.
      const more = { requestsPerMinute: 100, modelLimits: { deep: { requestsPerMinute: 3 } } };
      assert.equal((await g.admin('PATCH', `/accounts/${account.id}`, more)).status, 200);
      assert.deepEqual(await read(), { 'deep-2': { requestsPerMinute: 3, tokensPerMinute: null } });
      assert.deepEqual([await deep(), await deep()], [200, 429]);
      await g.admin('PATCH', `/accounts/${account.id}`, { modelLimits: { 'deep-2': null } });
      assert.deepEqual(await read(), {});
      assert.equal(await deep(), 200);
    } finally {
      await g.stop();
    }
  });
});
