import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { RequestReport } from '../../src/requests/request-report.ts';
import { call } from '../support/client.ts';
import { families } from '../support/families.ts';
import { assertSpent, PRICE, startGateway, type TestGateway } from '../support/gateway.ts';
import { json } from '../support/provider.ts';

const [chat] = families;

/** The parameters of a route change a body of this size in another thread. */
const LARGE_BODY = 'x'.repeat(80 * 1024);

describe('calls that move to a fallback', { timeout: 60_000 }, () => {
  let gateway: TestGateway;
  const reports: RequestReport[] = [];

  before(async () => {
    gateway = await startGateway({
      observers: [(report) => void reports.push(report)],
      requestWorkers: { file: fileURLToPath(import.meta.resolve('../support/mortal-worker.ts')), taskMsMax: 1 },
      models: `
  asked: { operations: [chat], maxOutputTokens: "100", price: ${PRICE}, routes: [{ provider: chatty, model: asked }], fallbacks: [changed, plain] }
  changed: { operations: [chat], maxOutputTokens: "100", price: ${PRICE}, routes: [{ provider: chatty, model: changed, parameters: { set: { top_k: "1" } } }] }
  plain: { operations: [chat], maxOutputTokens: "100", price: ${PRICE}, routes: [{ provider: chatty, model: plain }] }`,
    });
  });
  after(() => gateway?.stop());

  it('a call is released if the thread that prepares its fallback ends, and has the failure of its own model', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = json(503, { error: { message: 'Overloaded.' } });
    const body = { harm: 'time', model: 'asked', max_tokens: 50, messages: [{ role: 'user', content: LARGE_BODY }] };
    const response = await call(gateway.url + chat!.path, account.key, body);
    assert.equal(response.status, 503, response.text);
    assert.equal((await account.endedCall()).status, 'failed');
    await assertSpent(account, 0n);
  });

  it('the report of a call has its id if a fallback serves it from the beginning', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = json(200, chat!.whole());
    for (const model of ['asked', 'changed']) {
      assert.equal((await gateway.admin('POST', '/routes/drain', { provider: 'chatty', model })).status, 200);
    }
    const body = { model: 'asked', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] };
    const response = await call(gateway.url + chat!.path, account.key, body);
    assert.equal(response.status, 200, response.text);
    const id = response.headers['x-faregate-call-id'];
    assert.ok(id);
    assert.equal(reports.findLast(({ model }) => model !== null)?.callId, id);
  });
});
