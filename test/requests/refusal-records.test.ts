import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createRefusalsStore } from '../../src/requests/refusals-store.ts';
import type { RequestReport } from '../../src/requests/request-report.ts';
import { call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, chatResponse, json } from '../support/provider.ts';
import { openConnection } from '../support/raw.ts';
import { until } from '../support/until.ts';

/** Records of refused requests, and how a request is found by its ids (docs/logging.md). */

const CHAT = '/v1/chat/completions';
const chatBody = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };
const unknownModel = { ...chatBody, model: 'nothing-like-it' };

describe(`records of refusals`, () => {
  const clock = createTestClock('2026-11-20T04:00:00Z');
  const ends: string[] = [];
  let gateway: TestGateway;
  let account: TestAccount;

  before(async () => {
    const observers = [(report: RequestReport) => void ends.push(report.end)];
    gateway = await startGateway({ clock, isDatabaseClockReal: true, observers });
  });
  after(() => gateway.stop());
  beforeEach(async () => {
    gateway.provider.respond = chatResponse();
    account = await gateway.createAccount();
  });

  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  async function refusals(query: string): Promise<any[]> {
    return (await gateway.admin('GET', `/refusals?${query}`)).body.data;
  }

  /** Returns the records of the account when there are as many as expected. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  async function recorded(count: number): Promise<any[]> {
    await until(async () => (await refusals(`accountId=${account.id}&limit=500`)).length >= count);
    const found = await refusals(`accountId=${account.id}&limit=500`);
    assert.equal(found.length, count);
    return found;
  }

  test('a refused call has a record of the caller, the request and the reason', async () => {
    const response = await call(gateway.url + CHAT, account.key, unknownModel, {
      headers: { 'x-request-id': 'mine-1' },
    });
    const [refusal] = await recorded(1);
    assert.deepEqual(refusal, {
      id: response.headers['x-request-id'],
      at: '2026-11-20T04:00:00.000Z',
      count: 1,
      accountId: account.id,
      accountName: 'tester',
      keyId: account.keyId,
      keyName: 'test',
      clientRequestId: 'mine-1',
      clientAddress: '127.0.0.1',
      method: 'POST',
      path: CHAT,
      operation: 'chat',
      model: 'nothing-like-it',
      status: 404,
      code: 'model_not_found',
      message: response.json.error.message,
      param: 'model',
    });
    for (const id of ['mine-1', refusal.id]) {
      const { body } = await gateway.admin('GET', `/calls?requestId=${id}`);
      assert.deepEqual(body, { data: [], refusals: [refusal], nextCursor: null });
    }
  });

  test('a call is found by the request ids of the gateway, the provider and the client', async () => {
    gateway.provider.respond = json(200, chatCompletion(), { 'x-request-id': 'theirs-2' });
    await call(gateway.url + CHAT, account.key, chatBody, { headers: { 'x-client-request-id': 'mine-2' } });
    const { id, requestId, clientRequestId } = await account.endedCall();
    assert.deepEqual([requestId, clientRequestId], ['theirs-2', 'mine-2']);
    for (const known of ['theirs-2', 'mine-2', id, id.replace('call_', 'req_')]) {
      const { body } = await gateway.admin('GET', `/calls?requestId=${known}`);
      assert.deepEqual(
        body.data.map((found: { id: string }) => found.id),
        [id],
        known,
      );
      assert.deepEqual(body.refusals, []);
    }
    const mixed = await gateway.admin('GET', `/calls?requestId=mine-2&accountId=${account.id}`);
    assert.equal(mixed.status, 400);
  });

  test('a call that failed after its admission has only a call record', async () => {
    gateway.provider.respond = json(400, { error: { message: 'No.' } });
    await call(gateway.url + CHAT, account.key, chatBody);
    await call(gateway.url + CHAT, account.key, unknownModel);
    const [refusal] = await recorded(1);
    assert.equal(refusal.code, 'model_not_found');
  });

  test('balance queries are never recorded', async () => {
    for (const path of ['/v1/user/balance', '/v1/coding/user/balance', '/altproto/user/balance']) {
      ends.length = 0;
      await (await fetch(gateway.url + path, { headers: { authorization: 'Bearer none' } })).arrayBuffer();
      await until(() => ends.includes('refused'));
      // Refused before the key is checked.
      ends.length = 0;
      const early = await openConnection(gateway.url);
      early.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n`);
      assert.equal((await early.response()).status, 426);
      early.destroy();
      await until(() => ends.includes('refused'));
    }
    const models = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: 'Bearer none' } });
    await models.arrayBuffer();
    const id = models.headers.get('x-request-id');
    // Earlier refusals would be in the same batch or in an earlier one.
    await until(async () => (await refusals('code=invalid_api_key&limit=500')).some((found) => found.id === id));
    const paths = (await refusals('limit=500')).map(({ path }) => path ?? '');
    assert.ok(
      paths.every((path) => !path.includes('balance')),
      paths.join(),
    );
  });

  test('beyond a hundred in a minute, refusals are counted', async () => {
    clock.advance(60_000);
    for (let i = 0; i < 103; i++) await call(gateway.url + CHAT, account.key, unknownModel);
    await recorded(100);
    clock.advance(60_000);
    const found = await recorded(101);
    const counts = found.filter(({ count }) => count !== 1);
    assert.deepEqual(
      counts.map(({ count, code, at, path }) => [count, code, at, path]),
      [[3, 'model_not_found', '2026-11-20T04:01:00.000Z', null]],
    );
  });

  test('texts are recorded without keys, addresses, and characters that a database cannot store', async () => {
    const model = 'sk-fg-0123456789abcdefghijklmnop \u0000 https://host.example/x';
    await call(gateway.url + CHAT, account.key, { ...chatBody, model });
    const [{ model: kept }] = await recorded(1);
    assert.match(kept, /^\[key\] {2}\[address\]$/);
  });

  test('only old records are deleted', async () => {
    await call(gateway.url + CHAT, account.key, unknownModel);
    await recorded(1);
    const store = createRefusalsStore(gateway.database);
    const { signal } = new AbortController();
    await store.deleteBefore(clock.nowMs(), signal);
    await recorded(1);
    await store.deleteBefore(clock.nowMs() + 1, signal);
    assert.deepEqual(await refusals('limit=500'), []);
  });
});
