import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ADMIN_TOKEN, assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import {
  type Address,
  addresses,
  askAddress,
  askFor,
  assertRefusal,
  responseAnything,
  streamed,
  urlOf,
  workOf,
  wrongMethod,
} from './addresses.ts';

const APP = 'https://app.example';
const OTHER = 'https://other.example:8443';
const STRANGER = 'https://stranger.example';

const EXPOSED = [
  ...['available-yuan', 'budgets', 'call-id', 'calls-left', 'charge-yuan', 'repeated', 'reset-at'].map(
    (name) => `x-faregate-${name}`,
  ),
  ...['added', 'changed', 'left-out', 'model', 'translated'].map((name) => `x-faregate-${name}`),
  ...['limit', 'remaining', 'reset'].flatMap((figure) =>
    ['requests', 'tokens', 'input-tokens', 'output-tokens'].map((kind) => `x-ratelimit-${figure}-${kind}`),
  ),
  'request-id',
  'retry-after',
  'retry-after-ms',
  'x-error-code',
  'x-gateway-token-estimate',
  'x-request-id',
  'x-should-retry',
].sort();

const corsHeaders = (headers: Readonly<Record<string, string>>): string[] =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

function preflight(base: string, path: string, origin: string, method: string) {
  return askFor(base, path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type,x-api-key,x-stainless-lang',
    },
  });
}

/** Asserts which headers of a response a page of an allowed origin may read, and that caches do not serve it to other origins. */
function assertReadable(headers: Readonly<Record<string, string>>, origin: string): void {
  assert.equal(headers['access-control-allow-origin'], origin);
  assert.deepEqual(headers['access-control-expose-headers']!.split(', '), EXPOSED);
  assert.match(headers.vary!, /\bOrigin\b/);
  assert.equal(headers['access-control-allow-credentials'], undefined);
}

describe('4 Endpoints', () => {
  const chat = addresses.find(({ work }) => work === 'chat') as Address;

  describe('web pages of configured origins', () => {
    let gateway: TestGateway;
    let account: TestAccount;
    before(async () => {
      gateway = await startGateway({ server: `cors: { origins: ["${APP}", "${OTHER}"] }` });
      gateway.provider.respond = responseAnything;
      account = await gateway.createAccount();
    });
    after(() => gateway.stop());

    it('4 a page of a configured origin may ask every address, which a preflight tells it without a key', async () => {
      const asked = gateway.provider.requests.length;
      for (const origin of [APP, OTHER]) {
        for (const address of addresses) {
          const response = await preflight(gateway.url, urlOf(address), origin, address.method);
          assert.equal(response.status, 204, urlOf(address));
          assert.equal(response.body.length, 0);
          assertReadable(response.headers, origin);
          assert.equal(response.headers['access-control-allow-methods'], 'GET, HEAD, POST');
          assert.equal(
            response.headers['access-control-allow-headers'],
            'authorization,content-type,x-api-key,x-stainless-lang',
          );
          assert.equal(response.headers['access-control-max-age'], '600');
          assert.ok(response.headers['x-request-id']);
        }
      }
      assert.equal(gateway.provider.requests.length, asked);
    });

    it('4 a page of a configured origin may read JSON, and the headers that tell of a call', async () => {
      const payer = await gateway.createAccount();
      const response = await askAddress(gateway.url, chat, payer.key, { headers: { origin: APP } });
      assert.equal(response.status, 200);
      assertReadable(response.headers, APP);
      await assertSpent(payer, workOf(chat).costNano!);
    });

    it('4 a page of a configured origin may read streams', async () => {
      for (const address of addresses) {
        if (address.context !== 'balance' || workOf(address).respondStream === undefined) continue;
        const payer = await gateway.createAccount();
        const response = await askAddress(gateway.url, address, payer.key, {
          headers: { origin: APP },
          body: streamed(address),
        });
        assert.match(response.headers['content-type']!, /^text\/event-stream\b/);
        assertReadable(response.headers, APP);
        await assertSpent(payer, workOf(address).costNano!);
      }
    });

    it('4 a page of a configured origin may read errors of every address, 404 and 405 as well', async () => {
      for (const address of addresses) {
        const refused = await askAddress(gateway.url, address, null, {
          method: address.auth === 'none' ? 'POST' : address.method,
          headers: { origin: APP },
        });
        assert.equal(refused.status, address.auth === 'none' ? 405 : 401);
        assertReadable(refused.headers, APP);
      }
      const nowhere = await askFor(gateway.url, '/v1/nowhere', { headers: { origin: APP } });
      assert.equal(nowhere.status, 404);
      assertReadable(nowhere.headers, APP);
    });

    it("4 a page of a configured origin may read a provider's refusal, when to come back included", async () => {
      gateway.provider.respond = (_request, response) => {
        response.writeHead(429, {
          'retry-after': '7',
          'access-control-allow-origin': '*',
          'access-control-allow-credentials': 'true',
        });
        response.end();
      };
      try {
        const response = await askAddress(gateway.url, chat, account.key, { headers: { origin: APP } });
        assert.equal(response.status, 429);
        assert.equal(response.headers['retry-after'], '7');
        assertReadable(response.headers, APP);
        await assertSpent(account, 0n);
      } finally {
        gateway.provider.respond = responseAnything;
      }
    });

    it('4 a page of another origin may read nothing, and its preflight is refused as OPTIONS is', async () => {
      for (const origin of [STRANGER, 'null', `${APP}.evil.example`, 'http://app.example', `${APP}:443`]) {
        const response = await askFor(gateway.url, '/v1/public/models', { headers: { origin } });
        assert.equal(response.status, 200);
        assert.deepEqual(corsHeaders(response.headers), [], origin);
        assert.match(response.headers.vary!, /\bOrigin\b/);
        const asked = await preflight(gateway.url, '/v1/chat/completions', origin, 'POST');
        assertRefusal(asked, 'chat', wrongMethod);
        assert.deepEqual(corsHeaders(asked.headers), []);
      }
    });

    it('4 OPTIONS that is no preflight is 405, from a configured origin too', async () => {
      const response = await askFor(gateway.url, '/v1/chat/completions', {
        method: 'OPTIONS',
        headers: { origin: APP },
      });
      assertRefusal(response, 'chat', wrongMethod);
      assertReadable(response.headers, APP);
    });

    it('4 no page reaches the admin API', async () => {
      const read = await askFor(gateway.url, '/admin/v1/accounts', {
        headers: { origin: APP, authorization: `Bearer ${ADMIN_TOKEN}` },
      });
      assert.equal(read.status, 200);
      assert.deepEqual(corsHeaders(read.headers), []);
      const variants = [
        '/admin/v1/accounts',
        '/admin/v1/accounts/acct_1',
        '//admin/v1/accounts',
        '/admin//v1/accounts/',
        '/%61dmin/v1/accounts',
      ];
      for (const path of variants) {
        const asked = await preflight(gateway.url, path, APP, 'GET');
        assert.equal(asked.status, 405, path);
        assert.deepEqual(corsHeaders(asked.headers), [], path);
        const response = await askFor(gateway.url, path, { headers: { origin: APP } });
        assert.equal(response.status, 401, path);
        assert.deepEqual(corsHeaders(response.headers), [], path);
      }
    });
  });

  describe('web pages of any origin', () => {
    let gateway: TestGateway;
    before(async () => {
      gateway = await startGateway({ server: 'cors: { origins: ["*"] }' });
    });
    after(() => gateway.stop());

    it('4 with "*" pages of every origin may ask and read, but not the admin API', async () => {
      const response = await askFor(gateway.url, '/v1/public/models', { headers: { origin: STRANGER } });
      assertReadable(response.headers, STRANGER);
      assert.equal((await preflight(gateway.url, '/v1/messages', STRANGER, 'POST')).status, 204);
      const admin = await preflight(gateway.url, '/admin/v1/accounts', STRANGER, 'GET');
      assert.equal(admin.status, 405);
      assert.deepEqual(corsHeaders(admin.headers), []);
    });
  });

  describe('web pages if no origin is configured', () => {
    let gateway: TestGateway;
    before(async () => {
      gateway = await startGateway();
    });
    after(() => gateway.stop());

    it('4 without server.cors no page may ask or read anything', async () => {
      for (const address of addresses) {
        const response = await askAddress(gateway.url, address, null, { headers: { origin: APP } });
        assert.deepEqual(corsHeaders(response.headers), []);
        assert.equal(response.headers.vary, undefined);
        const asked = await preflight(gateway.url, urlOf(address), APP, address.method);
        assertRefusal(asked, address.envelope, wrongMethod);
        assert.deepEqual(corsHeaders(asked.headers), []);
      }
    });
  });
});
