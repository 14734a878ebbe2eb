import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { call } from '../support/client.ts';
import { requestOf } from '../support/families.ts';
import {
  ADMIN_TOKEN,
  assertSpent,
  costNano,
  startGateway,
  type TestGateway,
  testConfigText,
} from '../support/gateway.ts';
import { chatCompletion, json } from '../support/provider.ts';
import { until } from '../support/until.ts';

/** Stored responses share the memory limit of bodies. */
describe('the memory for stored responses', { timeout: 60_000 }, () => {
  /** Memory for a stored response of some 190 KiB, at four times its size, or of some 10 KiB. */
  const ampleKiB = 1024;
  const scarceKiB = 64;
  const serverWith = (memoryKiB: number): string => `bodyLimit: 16KiB, bodyMemory: ${memoryKiB}KiB`;
  const response = JSON.stringify(chatCompletion(undefined, 'x'.repeat(100 * 1024)));
  const costOfOne = costNano({ input: 11, output: 7 });
  let node: TestGateway;
  before(async () => {
    node = await startGateway({ server: serverWith(ampleKiB) });
    node.provider.respond = json(200, response);
  });
  after(() => node.stop());

  /** The limits of memory and disk are read before the new setting takes effect. */
  async function reload(memoryKiB: number): Promise<void> {
    const text = testConfigText(node.provider.url, { server: serverWith(memoryKiB) });
    node.gateway.reload(parseConfig(text, 'test.yaml', {}));
    const shown = new RegExp(`^faregate_body_memory_max_bytes ${memoryKiB * 1024}$`, 'm');
    await until(async () => shown.test(await metrics()), `the limit is not ${memoryKiB} KiB`);
  }
  async function metrics(): Promise<string> {
    const response = await fetch(`${node.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    return response.text();
  }
  const send = (key: string, idempotencyKey: string) =>
    call(`${node.url}/v1/chat/completions`, key, requestOf(false), { headers: { 'idempotency-key': idempotencyKey } });

  it('if it is used up, a response is delivered and charged once; its repeats are refused and charge nothing', async () => {
    await reload(scarceKiB);
    const account = await node.createAccount();
    const first = await send(account.key, 'unstored');
    assert.equal(first.status, 200);
    assert.equal(first.text, response);
    const repeat = await send(account.key, 'unstored');
    assert.equal(repeat.status, 409);
    assert.match(repeat.text, /carried out and charged, but there was no capacity left to store its response/);
    await assertSpent(account, costOfOne);
    await reload(ampleKiB);
    // There is memory again, and the call still ran once.
    assert.equal((await send(account.key, 'unstored')).status, 409);
    await assertSpent(account, costOfOne);
  });

  it('if it is used up, a repeat is refused for the moment, and gets the stored response later', async () => {
    const account = await node.createAccount();
    const first = await send(account.key, 'stored');
    assert.equal(first.text, response);
    await reload(scarceKiB);
    const refused = await send(account.key, 'stored');
    assert.equal(refused.status, 503);
    assert.equal(refused.headers['x-error-code'], 'overloaded');
    assert.equal(refused.headers['retry-after'], '2');
    await reload(ampleKiB);
    const repeat = await send(account.key, 'stored');
    assert.equal(repeat.status, 200);
    assert.equal(repeat.headers['x-faregate-repeated'], 'true');
    assert.equal(repeat.text, response);
    await assertSpent(account, costOfOne);
  });

  it('is released at the end of every call and repeat', async () => {
    const account = await node.createAccount();
    // Together they take more than there is.
    for (let i = 0; i < 5; i++) {
      assert.equal((await send(account.key, `one-of-many-${i}`)).text, response);
      assert.equal((await send(account.key, `one-of-many-${i}`)).text, response);
    }
    await assertSpent(account, 5n * costOfOne);
  });
});
