import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createApiKey } from '../../src/accounting/accounts/key-format.ts';
import { endpointTable } from '../../src/api/endpoints/table.ts';
import { parseConfig } from '../../src/config/load.ts';
import { assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import {
  type Address,
  addresses,
  askAddress,
  askFor,
  assertRefusal,
  badKey,
  noPlan,
  responseAnything,
  streamed,
  urlOf,
  workOf,
  wrongMethod,
  wrongType,
} from './addresses.ts';
import { assertCounted, assertPlanUse, createSubscriber, plansText } from './plans.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];
/** A well-formed key that belongs to no account. */
const UNKNOWN_KEY = createApiKey((bytes: Uint8Array) => bytes.fill(7));

describe('4 Endpoints', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({
      plans: plansText({ roomy: {}, mixed: { models: ['test-chat', 'test-both', 'test-hidden'] } }),
    });
    gateway.provider.respond = responseAnything;
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  /** The address's response to a valid request, with a balance or a plan if it needs one. */
  async function assertServed(address: Address, headers: Record<string, string>, key: string | null): Promise<void> {
    const payer = key === null ? account : await createSubscriber(gateway, 'roomy');
    const asked = gateway.provider.requests.length;
    const work = workOf(address);
    const credential = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('KEY', payer.key)]),
    );
    const response = await askAddress(gateway.url, address, null, { headers: credential });
    assert.equal(response.status, 200, response.text);
    assert.match(response.headers['content-type']!, /^application\/json\b/);
    assert.equal(typeof response.json, 'object');
    const isCall = address.context !== 'free';
    assert.equal(gateway.provider.requests.length - asked, isCall ? 1 : 0);
    if (isCall) assert.equal(gateway.provider.requests.at(-1)!.path, work.upstreamPath);
    await assertSpent(payer, address.context === 'balance' ? work.costNano! : 0n);
    if (key === null) return;
    const isCounted = address.context === 'coding';
    await assertPlanUse(gateway, payer, { calls: isCounted ? 1 : 0, tokens: isCounted ? work.tokens! : 0 });
  }

  async function assertUnauthorised(address: Address, headers: Record<string, string>): Promise<void> {
    assertRefusal(await askAddress(gateway.url, address, null, { headers }), address.envelope, badKey);
  }

  it('4 every address that the gateway serves is in this table, and every one of this table is served', () => {
    const config = parseConfig('', 'test.yaml', {});
    const served = endpointTable(config).map(({ method, path }) => `${method} ${path}`);
    const listed = addresses.map(({ method, path }) => `${method} ${path.replace(/\{model(_id)?\}/, ':model')}`);
    assert.deepEqual(served.toSorted(), listed.toSorted());
  });

  for (const address of addresses) {
    const label = `${address.method} ${address.path}`;
    const key = 'KEY';

    if (address.auth === 'none') {
      it(`4 ${label} needs no key, and ignores one`, async () => {
        await assertServed(address, {}, null);
        await assertServed(address, { authorization: 'Bearer wrong', 'x-api-key': 'other' }, null);
      });
    } else {
      it(`4 ${label} takes the key as Bearer, in the context ${address.context}`, async () => {
        await assertServed(address, { authorization: `Bearer ${key}` }, key);
      });
      it(`4 ${label} refuses a missing, malformed or unknown key with 401 in the ${address.envelope} envelope`, async () => {
        const asked = gateway.provider.requests.length;
        await assertUnauthorised(address, {});
        await assertUnauthorised(address, { authorization: `Basic ${account.key}` });
        await assertUnauthorised(address, { authorization: account.key });
        await assertUnauthorised(address, { authorization: 'Bearer' });
        await assertUnauthorised(address, { authorization: 'Bearer sk-fg-short' });
        await assertUnauthorised(address, { authorization: `Bearer ${UNKNOWN_KEY}` });
        await assertUnauthorised(address, { authorization: `Bearer ${account.key}`, 'x-api-key': UNKNOWN_KEY });
        assert.equal(gateway.provider.requests.length, asked);
      });
    }
    if (address.context === 'coding') {
      it(`4 ${label} requires an active plan`, async () => {
        const payer = await gateway.createAccount();
        const asked = gateway.provider.requests.length;
        for (const body of [workOf(address).body!, streamed(address)]) {
          const response = await askAddress(gateway.url, address, payer.key, { body });
          assertRefusal(response, address.envelope, noPlan(workOf(address).codingStatus!));
        }
        assert.equal(gateway.provider.requests.length, asked);
        await assertSpent(payer, 0n);
      });
    }
    if (address.work === 'codingModelDetail' || address.work === 'codingMessagesModelDetail') {
      it(`4 ${label} shows no model without a plan`, async () => {
        const payer = await gateway.createAccount();
        assertRefusal(await askAddress(gateway.url, address, payer.key), address.envelope, {
          status: 404,
          code: 'model_not_found',
          type: 'invalid_request_error',
          messagesType: 'not_found_error',
          param: 'model',
        });
      });
    }
    if (address.auth === 'x-api-key or Bearer') {
      it(`4 ${label} takes the key as x-api-key`, async () => {
        await assertServed(address, { 'x-api-key': key }, key);
        // At addresses of both families the header determines the family of the client.
        const asked = address.envelope === 'chat' ? { ...address, envelope: 'messages' as const } : address;
        await assertUnauthorised(asked, { 'x-api-key': UNKNOWN_KEY });
        await assertUnauthorised(asked, { 'x-api-key': '' });
      });
    }
    if (address.auth === 'Bearer') {
      it(`4 ${label} does not take the key as x-api-key`, async () => {
        await assertUnauthorised(address, { 'x-api-key': account.key });
      });
    }

    const allowed = address.method === 'POST' ? ['POST'] : address.envelope === 'catalog' ? ['GET'] : ['GET', 'HEAD'];
    it(`4 ${label} responds with 405 to every method but ${allowed.join(' and ')}, key or not`, async () => {
      for (const method of METHODS.filter((each) => !allowed.includes(each))) {
        for (const headers of [{}, { authorization: `Bearer ${account.key}` }]) {
          const response = await askFor(gateway.url, urlOf(address), { method, headers });
          assert.equal(response.headers.allow, allowed.join(', '), method);
          if (method !== 'HEAD') assertRefusal(response, address.envelope, wrongMethod);
          else assert.equal(response.status, 405);
        }
      }
    });

    if (address.method === 'GET' && address.envelope !== 'catalog') {
      it(`4 ${label} responds to HEAD with the head of its response to GET`, async () => {
        const known = await askAddress(gateway.url, address, account.key);
        const head = await askAddress(gateway.url, address, account.key, { method: 'HEAD' });
        assert.equal(head.status, known.status);
        assert.equal(head.body.length, 0);
        assert.equal(head.headers['content-type'], known.headers['content-type']);
        assert.equal(head.headers['content-length'], known.headers['content-length']);
        const refused = await askFor(gateway.url, urlOf(address), { method: 'HEAD' });
        assert.equal(refused.status, 401);
        assert.equal(refused.headers['x-error-code'], 'invalid_api_key');
      });
    }

    if (address.method === 'POST') {
      const isForm = address.work === 'imageEdit';
      it(`4 ${label} takes ${isForm ? 'multipart/form-data' : 'application/json'} only and responds with 415 to anything else`, async () => {
        const asked = gateway.provider.requests.length;
        const types = [
          isForm ? 'application/json' : 'multipart/form-data; boundary=x',
          'text/plain',
          'application/x-www-form-urlencoded',
          'application/octet-stream',
          'application/jsonl',
          '',
        ];
        for (const type of types) {
          const response = await askAddress(gateway.url, address, account.key, { headers: { 'content-type': type } });
          assertRefusal(response, address.envelope, wrongType);
        }
        const untyped = await askFor(gateway.url, urlOf(address), {
          method: 'POST',
          headers: { authorization: `Bearer ${account.key}` },
          body: workOf(address).body!,
        });
        assertRefusal(untyped, address.envelope, wrongType);
        // The credential is checked first, so a request without one learns nothing.
        const anonymous = await askAddress(gateway.url, address, null, { headers: { 'content-type': 'text/plain' } });
        assertRefusal(anonymous, address.envelope, badKey);
        assert.equal(gateway.provider.requests.length, asked);
      });
    }
  }

  for (const address of addresses.filter(({ method }) => method === 'POST')) {
    const label = `${address.method} ${address.path}`;
    const { respondStream } = workOf(address);
    const isCounted = address.context === 'coding';

    /** Asserts the cost of a call of the address: money, or plan usage. */
    async function assertUsed(payer: TestAccount): Promise<void> {
      const { costNano = 0n, tokens } = workOf(address);
      if (isCounted) await assertCounted(gateway, payer, { calls: 1, tokens: tokens! });
      else await assertSpent(payer, costNano);
    }
    const createPayer = () => (isCounted ? createSubscriber(gateway, 'roomy') : gateway.createAccount());

    if (respondStream !== undefined) {
      it(`4 ${label} streams if it is asked to`, async () => {
        const payer = await createPayer();
        const response = await askAddress(gateway.url, address, payer.key, { body: streamed(address) });
        assert.equal(response.status, 200, response.text);
        assert.match(response.headers['content-type']!, /^text\/event-stream\b/);
        assert.match(response.text, /^(event|data): /);
        await assertUsed(payer);
      });
    } else {
      it(`4 ${label} never streams: it responds JSON`, async () => {
        const payer = await createPayer();
        const response = await askAddress(gateway.url, address, payer.key, {
          headers: { accept: 'text/event-stream' },
        });
        assert.equal(response.status, 200, response.text);
        assert.match(response.headers['content-type']!, /^application\/json\b/);
        assert.equal(typeof response.json, 'object');
        await assertUsed(payer);
      });
    }
  }

  it('4 the model lists of the Coding base addresses contain the models of the active plan, and for messages only the models with that protocol', async () => {
    const subscriber = await createSubscriber(gateway, 'mixed');
    const without = await gateway.createAccount();
    const lists = addresses.filter(({ work }) => /^coding.*List$/.test(work));
    assert.equal(lists.length, 3);
    for (const address of lists) {
      const expected =
        address.work === 'codingModelList' ? ['test-chat', 'test-chat-latest', 'test-both'] : ['test-both'];
      const { json } = await askAddress(gateway.url, address, subscriber.key);
      assert.deepEqual(
        json.data.map(({ id }: { id: string }) => id),
        expected,
        address.path,
      );
      assert.deepEqual([json.has_more, json.first_id, json.last_id], [false, expected[0], expected.at(-1)]);
      assert.deepEqual((await askAddress(gateway.url, address, without.key)).json.data, []);
    }
    await assertPlanUse(gateway, subscriber, { calls: 0, tokens: 0 });
  });

  it('4 JSON may say that it is UTF-8, in any case', async () => {
    for (const type of ['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"']) {
      const payer = await gateway.createAccount();
      const [chat] = addresses;
      const response = await askAddress(gateway.url, chat!, payer.key, { headers: { 'content-type': type } });
      assert.equal(response.status, 200, response.text);
      await assertSpent(payer, workOf(chat!).costNano!);
    }
  });

  it('4 a query string, one trailing slash and a doubled leading slash lead to the same address', async () => {
    for (const address of addresses) {
      const { status } = await askAddress(gateway.url, address, account.key);
      const path = urlOf(address);
      for (const variant of [`${path}?beta=true&limit=1000`, `${path}/`, `/${path}`]) {
        const response = await askFor(gateway.url, variant, {
          method: address.method,
          headers: {
            authorization: `Bearer ${account.key}`,
            'content-type': workOf(address).contentType ?? 'application/json',
          },
          ...(address.method === 'POST' ? { body: workOf(address).body! } : {}),
        });
        assert.equal(response.status, status, variant);
      }
    }
  });

  it('4 an address that is not in the table is 404 in the envelope of the family that its path resembles', async () => {
    const nowhere = { status: 404, code: 'not_found', type: 'invalid_request_error', messagesType: 'not_found_error' };
    for (const path of ['/v1/images/variations', '/v1/moderations', '/v2/models', '/v1/chat/completions/x', '/x']) {
      for (const method of ['GET', 'POST']) {
        assertRefusal(await askFor(gateway.url, path, { method }), 'chat', nowhere);
      }
    }
    for (const path of ['/v1/messages/batches', '/altproto/v1/complete', '/v1/coding/altproto/x', '/altproto/']) {
      for (const method of ['GET', 'POST']) {
        assertRefusal(await askFor(gateway.url, path, { method }), 'messages', nowhere);
      }
    }
  });

  it('4 the addresses of vendor names that are not mounted are not there', async () => {
    for (const { path, method } of addresses.filter((address) => address.path.includes('altproto'))) {
      const response = await askFor(gateway.url, path.replace('altproto', 'anthropic').replace(/\{.*\}/, 'x'), {
        method,
        headers: { authorization: `Bearer ${account.key}` },
      });
      assert.equal(response.status, 404);
      assert.equal(response.headers['x-error-code'], 'not_found');
    }
  });

  it('4 no address redirects', async () => {
    for (const path of ['/v1', '/v1/', '/altproto', '//v1//models', '/V1/models', '/v1/models/../user/balance']) {
      const { status, headers } = await askFor(gateway.url, path, {
        headers: { authorization: `Bearer ${account.key}` },
      });
      assert.ok(status === 200 || status === 404, `${path}: ${status}`);
      assert.equal(headers.location, undefined);
    }
  });
});
