import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertSpent, startGateway, type TestGateway } from '../support/gateway.ts';
import {
  type Address,
  addresses,
  askAddress,
  askFor,
  assertRefusal,
  badKey,
  type ExpectedRefusal,
  responseAnything,
  urlOf,
  workOf,
  wrongMethod,
} from './addresses.ts';
import { assertPlanUse, createSubscriber, plansText } from './plans.ts';

/** Base addresses, and their spellings with an additional or a missing `/v1`. */
const BASES = {
  '/v1': ['', '/v1/v1'],
  '': ['/v1'],
  '/v1/coding': ['/coding', '/v1/coding/v1', '/v1/v1/coding'],
  '/altproto/v1': ['/altproto', '/altproto/v1/v1', '/v1/altproto/v1'],
  '/altproto/coding/v1': ['/altproto/coding', '/altproto/coding/v1/v1', '/altproto/v1/coding/v1'],
  '/v1/coding/altproto': ['/coding/altproto', '/v1/coding/altproto/v1', '/v1/coding/v1/altproto'],
} as const;

const nowhere: ExpectedRefusal = {
  status: 404,
  code: 'not_found',
  type: 'invalid_request_error',
  messagesType: 'not_found_error',
};

/** The base address of a path: the longest prefix among them. */
function baseOf({ path }: Address): string | undefined {
  const fitting = Object.keys(BASES).filter((base) => path.startsWith(`${base}/`));
  return fitting.toSorted((one, other) => other.length - one.length)[0];
}

describe('4 Endpoints', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ plans: plansText({ roomy: {} }) });
    gateway.provider.respond = responseAnything;
  });
  after(() => gateway.stop());

  for (const [base, wrongBases] of Object.entries(BASES)) {
    const here = addresses.filter((address) => baseOf(address) === base);
    for (const wrongBase of wrongBases) {
      const misplaced = here
        .map((address) => ({ address, path: urlOf(address).replace(base, wrongBase) }))
        // The contract itself has some of them; other tests cover those.
        .filter(({ path }) => !addresses.some((address) => urlOf(address) === path));

      it(`4 a path below ${wrongBase || 'the root'} is served as if it were below ${base || 'the root'}`, async () => {
        assert.ok(misplaced.length > 0);
        const payer = await createSubscriber(gateway, 'roomy');
        const use = { costNano: 0n, calls: 0, tokens: 0 };
        for (const { address, path } of misplaced) {
          const { body, contentType = 'application/json', costNano, tokens, upstreamPath } = workOf(address);
          const headers = { 'content-type': contentType };
          const request = { method: address.method, headers, ...(body === undefined ? {} : { body }) };
          if (address.auth !== 'none')
            assertRefusal(await askFor(gateway.url, path, request), address.envelope, badKey);
          const response = await askFor(gateway.url, path, {
            ...request,
            headers: { ...headers, authorization: `Bearer ${payer.key}` },
          });
          assert.equal(response.status, 200, `${path}: ${response.text}`);
          if (upstreamPath !== undefined) assert.equal(gateway.provider.requests.at(-1)!.path, upstreamPath);
          if (address.context === 'balance') use.costNano += costNano!;
          if (address.context === 'coding') {
            use.calls++;
            use.tokens += tokens!;
          }
          assertRefusal(await askFor(gateway.url, path, { method: 'DELETE' }), address.envelope, wrongMethod);
        }
        await assertSpent(payer, use.costNano);
        await assertPlanUse(gateway, payer, use);
      });
    }
  }

  it('4 the public catalog does not list the addresses that are one segment off', async () => {
    const { json } = await askFor(gateway.url, '/v1/public/models');
    const paths = json.models.flatMap(({ apiInterfaces }: { apiInterfaces: { operations: { path: string }[] }[] }) =>
      apiInterfaces.flatMap(({ operations }) => operations.map(({ path }) => path)),
    );
    assert.ok(paths.length > 0);
    for (const path of paths)
      assert.ok(
        addresses.some((address) => address.path === path),
        path,
      );
  });

  it('4 an unknown address responds in the messages envelope to a client with anthropic-version, altproto-version or x-api-key', async () => {
    for (const path of ['/x', '/v1/moderations', '/v1/chat/completions/x']) {
      for (const name of ['anthropic-version', 'altproto-version', 'x-api-key']) {
        assertRefusal(await askFor(gateway.url, path, { headers: { [name]: '2023-06-01' } }), 'messages', nowhere);
      }
      assertRefusal(await askFor(gateway.url, path), 'chat', nowhere);
    }
  });

  for (const [path, meant] of [
    ['/api/v1/chat/completions', 'POST /v1/chat/completions'],
    ['/openai/v1/models?limit=3', 'GET /v1/models'],
    ['/v2/models/test-chat', 'GET /v1/models/{model}'],
    ['/anthropic/v1/messages/', 'POST /v1/messages'],
    ['/v1/altproto/messages', 'POST /altproto/v1/messages'],
    ['/v1/coding/v1/messages', 'POST /altproto/coding/v1/messages'],
    ['/coding/user/messages/count_tokens', 'POST /altproto/coding/v1/messages/count_tokens'],
    ['/x/coding/chat/completions', 'POST /v1/coding/chat/completions'],
  ] as const) {
    it(`4 ${path} is unknown, and its refusal names ${meant}`, async () => {
      for (const method of ['GET', 'POST']) {
        const response = await askFor(gateway.url, path, { method });
        assert.equal(response.status, 404);
        assert.equal(response.json.error.message, `There is nothing at this address. Did you mean ${meant}?`);
      }
    });
  }

  it('4 an unknown address that resembles none names the base addresses of the client that asks', async () => {
    const chat = await askFor(gateway.url, '/v9/whatever');
    assert.match(chat.json.error.message, /Chat-style clients take \/v1 .*\/v1\/coding on the Coding Plan/);
    const messages = await askFor(gateway.url, '/v9/whatever', { headers: { 'anthropic-version': '2023-06-01' } });
    assert.match(
      messages.json.error.message,
      /Messages-style clients take the root .*\/altproto\/coding on the Coding Plan/,
    );
  });

  it('4 the refusal of an unknown address repeats nothing of it', async () => {
    for (const path of [`/${'x/'.repeat(400)}v1/messages`, '/secret-word/v1/messages', '/%00/v1/models']) {
      const { status, text } = await askFor(gateway.url, path);
      assert.equal(status, 404);
      assert.ok(!/secret-word|x\/x|%00/.test(text), text);
    }
  });

  it('4 a refusal at an address that is one segment off is in the envelope of the address that is meant', async () => {
    const [chat] = addresses;
    const { key } = await gateway.createAccount();
    const unknownModel = { body: { model: 'nothing', max_tokens: 1, messages: [{ role: 'user', content: 'Hello' }] } };
    const meant = await askAddress(gateway.url, chat!, key, unknownModel);
    const misplaced = await askAddress(gateway.url, { ...chat!, path: '/chat/completions' }, key, unknownModel);
    assert.deepEqual([misplaced.status, misplaced.json], [meant.status, meant.json]);
    const messages = { ...addresses.find(({ path }) => path === '/v1/messages')!, path: '/v1/v1/messages' };
    assert.equal((await askAddress(gateway.url, messages, key, unknownModel)).json.type, 'error');
  });
});
