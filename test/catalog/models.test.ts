import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

describe('models', () => {
  let g: TestGateway;
  let account: TestAccount;
  before(async () => {
    g = await startGateway({ server: 'protocolNames: { messages: [altproto, other] }' });
    account = await g.createAccount({ balanceYuan: '0' });
  });
  after(() => g.stop());

  const get = (path: string, headers: Record<string, string> = {}) => fetch(g.url + path, { headers });
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  const bodyOf = (response: Response): Promise<any> => response.json();
  const asOwner = (path: string) => get(path, { authorization: `Bearer ${account.key}` });

  it('are listed for the chat-style SDK, which finds one by id, and by alias with its canonical id', async () => {
    const client = new OpenAI({ baseURL: `${g.url}/v1`, apiKey: account.key });
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    assert.ok(ids.includes('test-chat') && ids.includes('test-messages'));
    assert.ok(!ids.includes('test-hidden'));
    assert.equal((await client.models.retrieve('test-chat')).object, 'model');
    assert.equal((await client.models.retrieve('test-chat-latest')).id, 'test-chat');
    await assert.rejects(client.models.retrieve('test-hidden'), { status: 404, code: 'model_not_found' });
  });

  it('are listed for the messages-style SDK at its own base address, under every mounted name', async () => {
    for (const name of ['altproto', 'other']) {
      const client = new Anthropic({ baseURL: `${g.url}/${name}`, apiKey: account.key });
      const ids: string[] = [];
      for await (const model of client.models.list()) ids.push(model.id);
      assert.deepEqual(ids, ['test-messages', 'test-both']);
      const model = await client.models.retrieve('test-messages');
      assert.equal(model.type, 'model');
      assert.equal(model.max_tokens, 100);
      await assert.rejects(client.models.retrieve('test-chat'), { status: 404, type: 'not_found_error' });
    }
  });

  it('satisfy the messages-style SDK at the root address too', async () => {
    const client = new Anthropic({ baseURL: g.url, apiKey: account.key });
    const page = await client.models.list();
    assert.ok(page.data.some(({ id, display_name }) => id === 'test-messages' && display_name === 'test-messages'));
    assert.equal(page.has_more, false);
  });

  it('are paged through by the messages-style SDK, with the fields of its version', async () => {
    for (const baseURL of [g.url, `${g.url}/altproto`]) {
      const client = new Anthropic({ baseURL, apiKey: account.key });
      const whole = (await client.models.list()).data;
      const paged: Anthropic.ModelInfo[] = [];
      for await (const model of client.models.list({ limit: 1, lifecycle: ['active'] })) paged.push(model);
      assert.deepEqual(paged, whole);
      const { lifecycle, deprecated_at, retires_at, line } = await client.models.retrieve('test-messages');
      assert.deepEqual([lifecycle, deprecated_at, retires_at, line], ['active', null, null, null]);
    }
  });

  it('require a key, with errors in the address’s envelope', async () => {
    const chat = await get('/v1/models');
    assert.equal(chat.status, 401);
    assert.equal((await bodyOf(chat)).error.code, 'invalid_api_key');
    const messages = await get('/altproto/v1/models/test-messages');
    assert.equal(messages.status, 401);
    assert.equal((await bodyOf(messages)).error.type, 'authentication_error');
  });

  it('are free', async () => {
    assert.equal((await asOwner('/v1/models')).status, 200);
    assert.equal((await account.money()).balanceNano, 0n);
    assert.equal(await account.lastCall(), undefined);
  });

  it('are public in the catalog, without a key, with an ETag and a minute of caching', async () => {
    const first = await get('/v1/public/models');
    assert.equal(first.status, 200);
    assert.equal(first.headers.get('cache-control'), 'public, max-age=60');
    const catalog = await bodyOf(first);
    const chat = catalog.models.find(({ modelId }: { modelId: string }) => modelId === 'test-chat');
    assert.equal(chat.inputPriceYuan, '3');
    assert.equal(chat.apiInterfaces[0].operations[0].path, '/v1/chat/completions');
    const text = JSON.stringify(catalog);
    for (const secret of ['provider-secret', 'upstream-chat', 'chatty', g.provider.url])
      assert.ok(!text.includes(secret));
    const etag = first.headers.get('etag')!;
    const again = await get('/v1/public/models', { 'if-none-match': etag });
    assert.equal(again.status, 304);
    assert.equal(await again.text(), '');
  });

  it('are refused for a wrong method in the catalog’s own envelope', async () => {
    const response = await fetch(`${g.url}/v1/public/models`, { method: 'POST' });
    assert.equal(response.status, 405);
    assert.equal(response.headers.get('allow'), 'GET');
    const { code, success, message, timestamp, ...rest } = await bodyOf(response);
    assert.deepEqual([code, success, rest], ['COMMON_004', false, {}]);
    assert.equal(typeof message, 'string');
    assert.equal(new Date(timestamp).toISOString(), timestamp);
  });
});
