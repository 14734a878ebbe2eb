import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ClientResponse, call } from '../support/client.ts';
import { assertError, assertFree, families, modesOf, requestOf } from '../support/families.ts';
import { assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json, type Respond, sse } from '../support/provider.ts';

/**
 * Which parts of a provider's refusal reach the client: its message in the gateway's envelope, and nothing that identifies the provider.
 */

describe('refusals of a provider', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway();
  });
  after(() => gateway.stop());

  for (const family of families) {
    for (const { kind, isStream } of modesOf(family)) {
      describe(`${family.name}, ${kind}`, () => {
        let account: TestAccount;

        async function send(respond: Respond): Promise<ClientResponse> {
          account = await gateway.createAccount();
          gateway.provider.respond = respond;
          return call(gateway.url + family.path, account.key, requestOf(isStream));
        }

        test('a refusal whose body breaks off keeps its status', async () => {
          const response = await send((_request, response) => {
            response.writeHead(429, { 'content-length': '1000', 'retry-after': '3' });
            response.write('{"error":{"message":"Slow');
            response.socket!.end();
          });
          assertError(response, family, { status: 429, code: 'upstream_error', type: 'rate_limit_error' });
          assert.equal(response.headers['retry-after'], '3');
          await assertFree(account, { httpStatus: 429, errorCode: 'upstream_error' });
        });

        test('interim responses of the provider are not forwarded', async () => {
          const response = await send((request, response) => {
            response.writeProcessing();
            response.writeEarlyHints({ link: '</style.css>; rel=preload' });
            return (isStream ? sse(family.stream(['Hi'])) : json(200, family.whole()))(request, response);
          });
          assert.equal(response.status, 200);
          assert.equal(response.headers.link, undefined);
          await assertSpent(account, family.cost);
        });

        test('a success keeps the provider’s rate limit headers, and no others', async () => {
          const headers = { ...unsafeHeaders, 'x-ratelimit-remaining-tokens': '5', 'x-request-id': 'req_theirs' };
          const response = await send(
            isStream ? sse(family.stream(['Hi']), headers) : json(200, family.whole(), headers),
          );
          assert.equal(response.status, 200);
          const own = ['cache-control', 'connection', 'content-length', 'content-type', 'date', 'keep-alive'];
          own.push('transfer-encoding', 'x-accel-buffering', 'x-faregate-available-yuan', 'x-faregate-call-id');
          if (!isStream) own.push('x-faregate-charge-yuan');
          assert.deepEqual(
            Object.keys(response.headers)
              .filter((name) => !own.includes(name))
              .sort(),
            ['request-id', 'x-ratelimit-remaining-tokens', 'x-request-id'],
          );
          await assertSpent(account, family.cost);
        });
      });
    }
  }
});

/** Headers that identify the provider, its account or its software, or that belong to its connection or to the gateway. */
const unsafeHeaders = {
  'x-faregate-calls-left': '7',
  'set-cookie': '__cf_bm=secret; path=/',
  server: 'cloudflare',
  via: '1.1 vendor-edge',
  'x-powered-by': 'Vendor',
  'www-authenticate': 'Bearer realm="vendor"',
  location: 'https://vendor.example/elsewhere',
  'openai-organization': 'org-of-the-operator',
  'anthropic-organization-id': 'org-of-the-operator',
  'access-control-allow-origin': '*',
  'x-error-code': 'theirs',
  'x-envoy-upstream-service-time': '12',
};
