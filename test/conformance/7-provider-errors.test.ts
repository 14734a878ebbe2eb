import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertFree } from '../support/families.ts';
import { assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json } from '../support/provider.ts';
import { assertError, type CallAddress, callAddresses, providerError, send } from './calls.ts';
import { assertPlanUse, createSubscriber, plansText } from './plans.ts';

describe('7 provider errors', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ plans: plansText({ roomy: {} }) });
  });
  after(() => gateway?.stop());

  const payers = new Map<CallAddress, Promise<TestAccount>>();

  /** An account that may call the address, with a balance or a plan. All tests share it, because none of their calls costs anything. */
  function payerAt(address: CallAddress): Promise<TestAccount> {
    const isCoding = address.context === 'coding';
    const payer = payers.get(address) ?? (isCoding ? createSubscriber(gateway, 'roomy') : gateway.createAccount());
    payers.set(address, payer);
    return payer;
  }

  /** Asserts that nothing was charged or counted. */
  async function assertNothingUsed({ context }: CallAddress, payer: TestAccount): Promise<void> {
    await assertSpent(payer, 0n);
    if (context === 'coding') await assertPlanUse(gateway, payer, { calls: 0, tokens: 0 });
  }

  const limits = Object.fromEntries(
    ['limit', 'remaining', 'reset'].flatMap((what) =>
      ['input-tokens', 'output-tokens', 'requests', 'tokens'].map((of) => [
        `x-ratelimit-${what}-${of}`,
        `${what}-${of}`,
      ]),
    ),
  );

  it('7 retry-after and x-ratelimit-* are kept on errors if the provider sent them', async () => {
    for (const address of callAddresses) {
      for (const status of [400, 429, 503]) {
        const other = await payerAt(address);
        gateway.provider.respond = json(status, {}, { 'retry-after': '17', ...limits });
        const response = await send(gateway, other, address);
        assert.equal(response.status, status);
        assert.equal(response.headers['retry-after'], '17');
        for (const [name, value] of Object.entries(limits)) assert.equal(response.headers[name], value, name);
        await assertNothingUsed(address, other);
      }
    }
  });

  it('7 they are absent if the provider did not send them', async () => {
    for (const address of callAddresses) {
      const other = await payerAt(address);
      gateway.provider.respond = json(429, {});
      const names = Object.keys((await send(gateway, other, address)).headers);
      assert.deepEqual(
        names.filter((name) => name === 'retry-after' || name.startsWith('x-ratelimit-')),
        [],
      );
    }
  });

  it('7 no other header of a provider’s error reaches the client', async () => {
    const theirs = {
      'set-cookie': 'a=b',
      server: 'their-server',
      via: '1.1 their-proxy',
      location: 'https://api.provider.example/',
      'x-internal-node': 'n1',
      'openai-organization': 'their-organization',
      'anthropic-organization-id': 'their-organization',
      'www-authenticate': 'Bearer realm="theirs"',
    };
    for (const address of callAddresses) {
      const other = await payerAt(address);
      gateway.provider.respond = json(403, {}, theirs);
      const { headers } = await send(gateway, other, address);
      for (const name of Object.keys(theirs)) assert.equal(headers[name], undefined, name);
    }
  });

  it('7 a provider’s refusal has its status and its words, and on messages its type', async () => {
    const message = 'prompt is too long: 250000 tokens > 200000 maximum';
    for (const address of callAddresses) {
      for (const [status, theirType, chatType] of [
        [400, 'invalid_request_error', 'invalid_request_error'],
        [403, 'permission_error', 'permission_error'],
        [404, 'not_found_error', 'invalid_request_error'],
        [413, 'request_too_large', 'invalid_request_error'],
        [429, 'rate_limit_error', 'rate_limit_error'],
        [500, 'api_error', 'api_error'],
        [529, 'overloaded_error', 'api_error'],
      ] as const) {
        const other = await payerAt(address);
        gateway.provider.respond = json(
          status,
          providerError(address.family, { type: theirType, message, code: 'own' }),
        );
        assertError(await send(gateway, other, address), address.family, {
          status,
          code: 'own',
          type: address.family === 'chat' ? chatType : theirType,
          message,
        });
        await assertFree(other, { httpStatus: status, errorCode: 'own' });
        await assertNothingUsed(address, other);
      }
    }
  });

  it('7 a provider that refuses the operator’s credential or account is 502 upstream_error, in the gateway’s words', async () => {
    for (const address of callAddresses) {
      for (const [status, type] of [
        [401, 'authentication_error'],
        [402, 'billing_error'],
        [429, 'insufficient_quota'],
      ] as const) {
        const other = await payerAt(address);
        const message = 'Their words about the account';
        gateway.provider.respond = json(status, providerError(address.family, { type, message, code: 'own' }), limits);
        const response = await send(gateway, other, address);
        assertError(response, address.family, {
          status: 502,
          code: 'upstream_error',
          type: 'api_error',
          retry: 'false',
        });
        assert.doesNotMatch(response.text, /Their words/);
        for (const [name, value] of Object.entries(limits)) assert.equal(response.headers[name], value, name);
        await assertFree(other, { httpStatus: 502, errorCode: 'upstream_error' });
        await assertNothingUsed(address, other);
      }
    }
  });

  it('7 a provider’s refusal in another format is converted into the envelope of the address', async () => {
    for (const address of callAddresses) {
      for (const reply of ['', '<html>Bad gateway</html>', '{"detail":"x"}', '[]', '"no"']) {
        const other = await payerAt(address);
        gateway.provider.respond = json(500, reply);
        assertError(await send(gateway, other, address), address.family, {
          status: 500,
          code: 'upstream_error',
          type: 'api_error',
          message: 'The provider responded with status 500.',
        });
      }
    }
  });

  it('7 a provider’s refusal names neither its address nor its key', async () => {
    for (const address of callAddresses) {
      const secret = address.family === 'chat' ? 'provider-secret-key-1' : 'provider-secret-key-2';
      const message = `Incorrect key ${secret} at ${gateway.provider.url}/v1/chat.`;
      const other = await payerAt(address);
      gateway.provider.respond = json(403, providerError(address.family, { message }));
      const { text } = await send(gateway, other, address);
      assert.doesNotMatch(text, /provider-secret|127\.0\.0\.1/, text);
      assert.match(text, /Incorrect key \[provider\] at \[address\]/);
    }
  });

  it('7 a provider’s 502 and 504 leave the outcome unknown: they are not to be retried', async () => {
    for (const address of callAddresses) {
      for (const status of [502, 504]) {
        const other = await payerAt(address);
        const calls = gateway.provider.requests.length;
        gateway.provider.respond = json(status, {});
        const response = await send(gateway, other, address);
        assert.equal(response.status, status);
        assert.equal(response.headers['x-should-retry'], 'false');
        assert.equal(gateway.provider.requests.length, calls + 1, 'the call was replayed');
        await assertNothingUsed(address, other);
      }
    }
  });

  it('7 a redirect or a success without a body is no refusal but 502 upstream_error, and is not followed', async () => {
    for (const address of callAddresses) {
      for (const status of [201, 204, 301, 307]) {
        const other = await payerAt(address);
        const calls = gateway.provider.requests.length;
        gateway.provider.respond = (_request, response) => {
          response.writeHead(status, { location: `${gateway.provider.url}/elsewhere` });
          response.end();
        };
        assertError(await send(gateway, other, address), address.family, {
          status: 502,
          code: 'upstream_error',
          type: 'api_error',
          retry: 'false',
        });
        assert.equal(gateway.provider.requests.length, calls + 1);
        await assertFree(other, { httpStatus: 502, errorCode: 'upstream_error' });
      }
    }
  });
});
