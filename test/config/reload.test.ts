import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { call, startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import {
  assertSpent,
  costNano,
  startGateway,
  type TestAccount,
  type TestGateway,
  testConfigText,
} from '../support/gateway.ts';
import { chatCompletion, json, type ScriptedProvider, startProvider } from '../support/provider.ts';

describe('a reload during calls', () => {
  let g: TestGateway;
  let other: ScriptedProvider;
  let account: TestAccount;
  const body = { model: 'test-chat', messages: [] };
  const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };

  before(async () => {
    g = await startGateway();
    other = await startProvider();
    account = await g.createAccount();
  });
  after(async () => {
    await g.stop();
    await other.close();
  });

  const chat = () => startCall(`${g.url}/v1/chat/completions`, account.key, body);
  /** The test configuration with another provider and other prices. */
  const reload = (url: string, from: string, to: string): void =>
    g.gateway.reload(parseConfig(testConfigText(url).replaceAll(from, to), 'test.yaml', {}));

  it('does not change the provider and price of a running call', async () => {
    let received = (): void => undefined;
    g.provider.respond = (request, response) => {
      received = () => void json(200, chatCompletion(usage))(request, response);
    };
    const first = chat();
    await g.provider.received(1);
    reload(other.url, 'input: "3"', 'input: "300"');
    other.respond = json(200, chatCompletion(usage));
    assert.equal((await call(`${g.url}/v1/chat/completions`, account.key, body)).status, 200);
    assert.equal(other.requests.length, 1);
    received();
    assert.equal(await (await first.response).ended(), true);
    const cheap = costNano({ input: 1_000, output: 100 });
    const dear = cheap + 1_000n * (300_000n - 3_000n);
    await assertSpent(account, cheap + dear);
  });

  it('does not change the provider of an admitted call', async () => {
    reload(g.provider.url, 'no such text', '');
    g.provider.respond = json(200, chatCompletion(usage));
    const before = g.provider.requests.length;
    const admissions = g.observed.statement('reservations.admit');
    const asked = admissions.asked;
    admissions.hold();
    const held = chat();
    await admissions.reached(asked + 1);
    reload(other.url, 'no such text', '');
    reload(other.url, 'connections: 1024', '');
    admissions.release();
    assert.equal((await held.response).status, 200);
    assert.equal(g.provider.requests.length, before + 1);
  });
});

describe('a reload that changes the billing time zone', () => {
  it('does not reset daily spend: spend on a later day counts until that day is over', async () => {
    const clock = createTestClock('2026-11-20T17:00:00Z');
    await using g = await startGateway({ clock });
    // The 21st in Shanghai.
    const account = await g.createAccount({ dailySpendCapYuan: '0.0001' });
    await g.admin('PATCH', `/keys/${account.keyId}`, { dailyCalls: 1 });
    const other = await g.admin('POST', `/accounts/${account.id}/keys`, {});
    const ask = async (key: string) => {
      const received = await call(`${g.url}/v1/chat/completions`, key, { model: 'test-chat', messages: [] });
      return received.status === 200 ? 'served' : received.headers['x-error-code'];
    };
    assert.equal(await ask(account.key), 'served');
    const { body: before } = await g.admin('GET', `/accounts/${account.id}`);
    // The 20th in Los Angeles.
    const text = testConfigText(g.provider.url).replace('Asia/Shanghai', 'America/Los_Angeles');
    g.gateway.reload(parseConfig(text, 'test.yaml', {}));
    assert.equal(await ask(other.body.key), 'balance_daily_limit_exceeded');
    assert.equal(await ask(account.key), 'key_daily_calls_limit_exceeded');
    assert.deepEqual((await g.admin('GET', `/accounts/${account.id}`)).body, before);
    clock.set('2026-11-22T08:00:00Z');
    assert.equal(await ask(account.key), 'served');
  });
});
