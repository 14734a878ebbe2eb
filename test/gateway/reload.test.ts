import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { call, startCall } from '../support/client.ts';
import {
  assertSpent,
  costNano,
  startGateway,
  type TestAccount,
  type TestGateway,
  testConfigText,
} from '../support/gateway.ts';
import { chatCompletion, json, type ScriptedProvider, startProvider } from '../support/provider.ts';

describe('a reload while calls are under way', () => {
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
  /** The test configuration with another provider behind it and other prices. */
  const reload = (url: string, from: string, to: string): void =>
    g.gateway.reload(parseConfig(testConfigText(url).replaceAll(from, to), 'test.yaml', {}));

  it('lets a call finish with the provider and the price that it began with', async () => {
    let answer = (): void => undefined;
    g.provider.respond = (request, response) => {
      answer = () => void json(200, chatCompletion(usage))(request, response);
    };
    const first = chat();
    await g.provider.received(1);
    reload(other.url, 'input: "3"', 'input: "300"');
    other.respond = json(200, chatCompletion(usage));
    assert.equal((await call(`${g.url}/v1/chat/completions`, account.key, body)).status, 200);
    assert.equal(other.requests.length, 1);
    answer();
    assert.equal(await (await first.answer).ended(), true);
    const cheap = costNano({ input: 1_000, output: 100 });
    const dear = cheap + 1_000n * (300_000n - 3_000n);
    await assertSpent(account, cheap + dear);
  });

  it('sends a call that was admitted before the reload to the provider that was chosen for it', async () => {
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
    assert.equal((await held.answer).status, 200);
    assert.equal(g.provider.requests.length, before + 1);
  });
});
