import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type ClientResponse, call } from '../support/client.ts';
import { type Family, families, requestOf } from '../support/families.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatResponse, json } from '../support/provider.ts';
import { recordLogs } from '../support/recorded-logger.ts';

/** What operators and clients see if a provider rejects the operator's credential or account. */

const PRICE = '{ input: "3", output: "13" }';

describe("a provider that refuses the operator's account", () => {
  const [chat] = families as readonly [Family, Family];
  const logs = recordLogs();
  let gateway: TestGateway;
  let account: TestAccount;

  before(async () => {
    gateway = await startGateway({
      logger: logs.logger,
      providerFields: 'headers: { x-tenant-key: canary-header-2 }',
      models: `  routed: { operations: [chat], price: ${PRICE}, routes: [{ provider: chatty, model: a }, { provider: chatty, model: b, priority: 1 }] }`,
    });
    account = await gateway.createAccount();
  });
  after(() => gateway?.stop());
  beforeEach(() => {
    logs.lines.length = 0;
  });

  const send = (model: string): Promise<ClientResponse> =>
    call(gateway.url + chat.path, account.key, requestOf(false, model));

  it('is logged with the provider, the status and its message, even if another route accepts the call', async () => {
    gateway.provider.respond = (request, response) => {
      const isFirst = JSON.parse(request.body.toString()).model === 'a';
      const words = 'No credit for provider-secret-key-1 with canary-header-2 at http://vendor.example/pay.';
      return (isFirst ? json(402, { error: { message: words } }) : chatResponse())(request, response);
    };
    assert.equal((await send('routed')).status, 200);
    const { id } = await account.endedCall();
    const warnings = logs.lines.filter(({ level }) => level === 'warn');
    assert.deepEqual(warnings, [
      {
        level: 'warn',
        details: {
          callId: id,
          provider: 'chatty',
          credential: 'apiKey',
          status: 402,
          words: 'No credit for [provider] with [provider] at [address]',
        },
        message: "a provider does not accept the operator's credential or account",
      },
    ]);
    assert.doesNotMatch(logs.text(), /provider-secret-key|canary/);
  });

  it('reveals no key to clients, logs or the admin API, whatever the provider repeats', async () => {
    for (const status of [400, 401, 402, 403, 429, 500, 503]) {
      const echo = 'Bearer provider-secret-key-1, canary-header-2';
      gateway.provider.respond = json(
        status,
        { error: { message: echo, type: echo, code: 'provider-secret-key-1', param: echo } },
        { 'x-ratelimit-limit-requests': echo, 'retry-after': echo, 'x-request-id': 'provider-secret-key-1' },
      );
      const response = await send('test-chat');
      assert.doesNotMatch(response.text + JSON.stringify(response.headers), /provider-secret-key|canary/);
    }
    const routes = await gateway.admin('GET', '/routes');
    const calls = await gateway.admin('GET', '/calls');
    assert.doesNotMatch(JSON.stringify([routes.body, calls.body]), /provider-secret-key|canary/);
    assert.doesNotMatch(logs.text(), /provider-secret-key|canary/);
  });
});
