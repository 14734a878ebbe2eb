import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertSpent, startGateway, type TestGateway } from '../support/gateway.ts';
import type { ReceivedRequest } from '../support/provider.ts';
import {
  type Address,
  type AskOptions,
  addresses,
  askAddress,
  assertRefusal,
  responseAnything,
  workOf,
} from './addresses.ts';
import { notTestable } from './rule.ts';

const find = (path: string): Address => addresses.find((address) => address.path === path)!;
const estimates = addresses.filter(({ work }) => work === 'inputTokens' || work === 'countTokens');

describe('9 Versioning', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway();
    gateway.provider.respond = responseAnything;
  });
  after(() => gateway.stop());

  /** Makes a call, asserts that it is charged, and returns the provider's request. */
  async function sentBy(path: string, options: AskOptions = {}): Promise<ReceivedRequest> {
    const account = await gateway.createAccount();
    const asked = gateway.provider.requests.length;
    const response = await askAddress(gateway.url, find(path), account.key, options);
    assert.equal(response.status, 200, response.text);
    assert.equal(gateway.provider.requests.length, asked + 1);
    await assertSpent(account, workOf(find(path)).costNano!);
    return gateway.provider.requests.at(-1)!;
  }

  it("9 the public paths carry a /v1 segment, but for the balances at base addresses without one and the rerank address of Cohere's clients", async () => {
    const without = addresses.map(({ path }) => path).filter((path) => !path.split('/').includes('v1'));
    assert.deepEqual(without, [
      '/user/balance',
      '/altproto/user/balance',
      '/v2/rerank',
      '/altproto/coding/user/balance',
    ]);
  });

  it('9 a messages call without altproto-version is treated as of 2023-06-01', async () => {
    const { headers } = await sentBy('/v1/messages');
    assert.equal(headers['anthropic-version'], '2023-06-01');
  });

  it("9 a messages call accepts altproto-version, which reaches the provider under its vendor's name", async () => {
    for (const version of ['2023-06-01', '2026-10-21', 'a-version-of-tomorrow']) {
      const { headers } = await sentBy('/v1/messages', { headers: { 'altproto-version': version } });
      assert.equal(headers['anthropic-version'], version);
      assert.equal(headers['altproto-version'], undefined);
    }
  });

  it("9 the official clients' own version and beta headers reach the provider unharmed", async () => {
    const { headers } = await sentBy('/v1/messages', {
      headers: { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'one-2026-01-01,two-2026-02-02' },
    });
    assert.equal(headers['anthropic-version'], '2026-10-21');
    assert.equal(headers['anthropic-beta'], 'one-2026-01-01,two-2026-02-02');
  });

  it('9 a chat call has no version if its client sends none', async () => {
    const { headers } = await sentBy('/v1/chat/completions');
    assert.deepEqual(
      Object.keys(headers).filter((name) => name.endsWith('-version')),
      [],
    );
  });

  for (const address of estimates) {
    it(`9 ${address.path} returns the version of the estimator`, async () => {
      const account = await gateway.createAccount({ balanceYuan: '0' });
      const response = await askAddress(gateway.url, address, account.key);
      assert.equal(response.status, 200);
      assert.equal(response.headers['x-gateway-token-estimate'], 'o200k-heuristic-v2');
    });
  }

  it('9 an address that estimates nothing returns no version of an estimator', async () => {
    const account = await gateway.createAccount();
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/models', '/v1/public/models']) {
      const { headers } = await askAddress(gateway.url, find(path), account.key);
      assert.equal(headers['x-gateway-token-estimate'], undefined);
    }
  });

  const paid = addresses.filter(({ context, work }) => context === 'balance' && work !== 'imageEdit');
  for (const address of paid) {
    it(`9 ${address.path} stays open to fields of tomorrow, which reach the provider as they are`, async () => {
      const fields = { ...workOf(address).body, field_of_tomorrow: { deep: [1, null, { x: 'y' }] }, another: 1e-7 };
      const { body } = await sentBy(address.path, { body: fields });
      const sent = JSON.parse(body.toString());
      assert.deepEqual(sent.field_of_tomorrow, fields.field_of_tomorrow);
      assert.equal(sent.another, 1e-7);
    });

    it(`9 ${address.path} never relaxes the type of a declared field, whatever else is sent`, async () => {
      const account = await gateway.createAccount();
      const asked = gateway.provider.requests.length;
      const body = { ...workOf(address).body, model: 5, field_of_tomorrow: true };
      const response = await askAddress(gateway.url, address, account.key, { body });
      const refusal = { status: 400, code: 'invalid_request_error', type: 'invalid_request_error', param: 'model' };
      assertRefusal(response, address.envelope, refusal);
      assert.equal(gateway.provider.requests.length, asked);
      await assertSpent(account, 0n);
    });
  }

  it('9 a declared field that is required stays required', async () => {
    for (const [path, field] of [
      ['/v1/chat/completions', 'messages'],
      ['/v1/messages', 'messages'],
      ['/v1/embeddings', 'input'],
      ['/v1/rerank', 'documents'],
      ['/v1/responses/compact', 'model'],
      ['/v1/images/generations', 'prompt'],
      ['/v1/responses/input_tokens', 'model'],
      ['/v1/messages/count_tokens', 'messages'],
    ] as const) {
      const account = await gateway.createAccount();
      const address = find(path);
      const { [field]: _left, ...body } = workOf(address).body as Record<string, unknown>;
      const response = await askAddress(gateway.url, address, account.key, { body });
      const refusal = { status: 400, code: 'invalid_request_error', type: 'invalid_request_error', param: field };
      assertRefusal(response, address.envelope, refusal);
      await assertSpent(account, 0n);
    }
  });

  it('9 a declared enum stays closed', async () => {
    const account = await gateway.createAccount();
    for (const [path, field, word] of [
      ['/v1/responses/compact', 'service_tier', 'tomorrow'],
      ['/v1/images/generations', 'output_format', 'tiff'],
    ] as const) {
      const address = find(path);
      const body = { ...workOf(address).body, [field]: word };
      const response = await askAddress(gateway.url, address, account.key, { body });
      const refusal = { status: 400, code: 'invalid_request_error', type: 'invalid_request_error', param: field };
      assertRefusal(response, 'chat', refusal);
    }
    await assertSpent(account, 0n);
  });

  notTestable(
    '9 provider-specific extension fields may vary by model',
    'It allows, and demands nothing of the gateway.',
  );
});
