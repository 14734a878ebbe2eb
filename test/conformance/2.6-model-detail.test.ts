import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { askFor } from './addresses.ts';
import { notTestable } from './rule.ts';

describe('2.6 Messages-style model detail', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({
      models: `
  detailed:
    aliases: [detailed-latest, detailed-2026]
    displayName: Detailed One
    contextLength: "200000"
    maxOutputTokens: "64000"
    operations: [messages]
    price: { input: "1", output: "1" }
    routes: [{ provider: messy, model: upstream }]
  vague:
    contextLength: 200K
    operations: [messages]
    price: { input: "1", output: "1" }
    routes: [{ provider: messy, model: upstream }]
`,
    });
    account = await gateway.createAccount({ balanceYuan: '0' });
  });
  after(() => gateway.stop());

  async function detailOf(name: string, headers: Record<string, string> = {}, base = '/altproto/v1') {
    const response = await askFor(gateway.url, `${base}/models/${name}`, {
      headers: { 'x-api-key': account.key, ...headers },
    });
    assert.equal(response.status, 200, response.text);
    return response.json;
  }

  const sevenFields = {
    id: 'detailed',
    type: 'model',
    display_name: 'Detailed One',
    created_at: '1970-01-01T00:00:00.000Z',
    max_input_tokens: 200_000,
    max_tokens: 64_000,
    capabilities: null,
  };

  it('2.6 a detail has these seven fields and no other, under version 2023-06-01 and if no version is named', async () => {
    for (const version of [undefined, '2023-06-01', '2026-10-20', 'anything', '9']) {
      const headers = version === undefined ? {} : { 'altproto-version': version };
      assert.deepEqual(await detailOf('detailed', headers), sevenFields);
    }
  });

  it('2.6 from version 2026-10-21 on a detail also has the model’s lifecycle', async () => {
    for (const name of ['altproto-version', 'anthropic-version']) {
      for (const version of ['2026-10-21', '2027-01-01']) {
        assert.deepEqual(await detailOf('detailed', { [name]: version }), {
          ...sevenFields,
          lifecycle: 'active',
          deprecated_at: null,
          retires_at: null,
          line: null,
        });
      }
    }
  });

  it('2.6 a messages client gets the same at /v1/models/{id}, and a chat client does not', async () => {
    assert.deepEqual(await detailOf('detailed', {}, '/v1'), sevenFields);
    for (const version of ['2023-06-01', '2026-10-21']) {
      const headers = { authorization: `Bearer ${account.key}`, 'anthropic-version': version };
      assert.deepEqual(await detailOf('detailed', headers, '/v1'), await detailOf('detailed', headers));
    }
    const chat = await detailOf('detailed', { authorization: `Bearer ${account.key}` }, '/v1');
    assert.deepEqual([chat.object, chat.display_name, 'max_tokens' in chat], ['model', 'Detailed One', false]);
  });

  it('2.6 id is always the canonical id, even if an alias was asked for', async () => {
    for (const alias of ['detailed-latest', 'detailed-2026']) {
      assert.deepEqual(await detailOf(alias), await detailOf('detailed'));
    }
  });

  it('2.6 type is always model', async () => {
    for (const name of ['detailed', 'vague', 'test-both']) assert.equal((await detailOf(name)).type, 'model');
  });

  it('2.6 display_name is a string, the id if no name is configured', async () => {
    assert.equal((await detailOf('vague')).display_name, 'vague');
  });

  it('2.6 created_at is RFC 3339 in UTC', async () => {
    for (const name of ['detailed', 'vague']) {
      const { created_at } = await detailOf(name);
      assert.match(created_at, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
      assert.equal(new Date(created_at).toISOString(), created_at);
    }
  });

  it('2.6 max_input_tokens and max_tokens are integers, or null if the configuration gives none', async () => {
    const { max_input_tokens, max_tokens } = await detailOf('vague');
    assert.deepEqual([max_input_tokens, max_tokens], [null, null]);
    assert.equal((await detailOf('test-messages')).max_tokens, 100);
  });

  it('2.6 capabilities is null, because none are verified', async () => {
    for (const name of ['detailed', 'vague']) assert.equal((await detailOf(name)).capabilities, null);
  });

  notTestable(
    '2.6 capabilities is an object if they are verified',
    'Nothing verifies capabilities: the configuration has no key for them.',
  );
});
