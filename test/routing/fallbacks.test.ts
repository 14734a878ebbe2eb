import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { RequestReport } from '../../src/requests/request-report.ts';
import { CODING_CHAT, createSubscriber, plansText } from '../plans/coding.ts';
import { call } from '../support/client.ts';
import { families } from '../support/families.ts';
import { assertSpent, PRICE, startGateway, type TestGateway } from '../support/gateway.ts';
import { json, type ScriptedProvider, startProvider } from '../support/provider.ts';

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

describe('fallbacks of calls on a plan', { timeout: 60_000 }, () => {
  let gateway: TestGateway;
  let faulty: ScriptedProvider;

  before(async () => {
    faulty = await startProvider();
    faulty.respond = json(503, { error: { message: 'Overloaded.' } });
    const model = (settings: string, route: string): string =>
      `{ operations: [chat], price: ${PRICE}, ${settings}, routes: [{ ${route} }] }`;
    gateway = await startGateway({
      providers: `
  faulty: { protocol: chat, baseUrl: "${faulty.url}/v1", apiKey: faulty-secret-key-1 }`,
      models: `
  asked: ${model('maxOutputTokens: "9000", innerModels: { vendor-tool: cheap }, fallbacks: [served]', 'provider: faulty, model: asked')}
  served: ${model('maxOutputTokens: "9000", innerModels: { vendor-tool: dear }', 'provider: chatty, model: served')}
  asks-more: ${model('maxOutputTokens: "9000", fallbacks: [more]', 'provider: faulty, model: asks-more')}
  more: ${model('maxOutputTokens: "9000"', 'provider: chatty, model: more, parameters: { default: { max_tokens: "2000" } }')}
  cheap: ${model('maxOutputTokens: "100"', 'provider: chatty, model: cheap')}
  dear: ${model('maxOutputTokens: "100"', 'provider: chatty, model: dear')}`,
      plans: plansText({
        narrow: { models: ['asked', 'served', 'cheap', 'asks-more', 'more'], outputTokenLimit: 1_000 },
      }),
    });
    gateway.provider.respond = json(200, chat!.whole());
  });
  after(async () => {
    await gateway?.stop();
    await faulty?.close();
  });

  const send = (key: string, body: object) =>
    call(gateway.url + CODING_CHAT, key, { messages: [{ role: 'user', content: 'Hello' }], ...body });

  it('a fallback is skipped if the plan does not include a model that it can run for the call', async () => {
    const { key } = await createSubscriber(gateway, 'narrow');
    assert.equal((await send(key, { model: 'asked' })).status, 200, 'without a model of its own');
    const named = { fallbacks: [{ model: 'vendor-tool' }] };
    const direct = await send(key, { model: 'served', ...named });
    assert.equal(direct.json.error.code, 'model_not_in_package', direct.text);
    const moved = await send(key, { model: 'asked', ...named });
    assert.equal(moved.status, 503, moved.text);
  });

  it('a fallback is skipped if the parameters of its route ask for more output than the plan allows', async () => {
    const { key } = await createSubscriber(gateway, 'narrow');
    const direct = await send(key, { model: 'more' });
    assert.equal(direct.status, 400, direct.text);
    const moved = await send(key, { model: 'asks-more' });
    assert.equal(moved.status, 503, moved.text);
    assert.equal((await gateway.admin('POST', '/routes/drain', { provider: 'faulty' })).status, 200);
    const closed = await send(key, { model: 'asks-more' });
    assert.equal(closed.status, 503, closed.text);
  });
});
