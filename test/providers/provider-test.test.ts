import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { runCommand } from '../support/command.ts';
import { ADMIN_TOKEN, startGateway, type TestAccount, type TestGateway, testConfigText } from '../support/gateway.ts';
import { temporaryDirectory } from '../support/process.ts';
import {
  chatCompletion,
  chatResponse,
  json,
  type Respond,
  type ScriptedProvider,
  startProvider,
} from '../support/provider.ts';

/** An operator tests a provider with a minimal call for each of its credentials: `POST /admin/v1/providers/:id/test`. */

const GOOD = 'good-secret-key';
const BAD = 'withdrawn-secret-key';

describe('a test of a provider', () => {
  const directory = temporaryDirectory();
  let tested: ScriptedProvider;
  let gateway: TestGateway;
  let account: TestAccount;
  const options = () => ({
    routing: '{ breaker: { failures: 1 } }',
    providers: `
  several: { protocol: chat, baseUrl: "${tested.url}/v1", apiKeys: [${GOOD}, ${BAD}] }
  single: { protocol: chat, baseUrl: "${tested.url}/v1", apiKey: ${GOOD} }
  bare: { protocol: chat, baseUrl: "${tested.url}/v1", apiKey: ${GOOD} }
  away: { protocol: chat, baseUrl: "http://127.0.0.1:1/v1", apiKey: ${GOOD} }`,
    models: `
  painted: { operations: [images.generate], price: { perImage: "1" }, routes: [{ provider: single, model: painter }] }
  tried: { operations: [chat], price: { input: "3", output: "13" }, routes: [{ provider: several, model: x }, { provider: single, model: y }, { provider: away, model: z }] }
  reranked: { operations: [rerank], price: { perSearchUnit: "0.02" }, routes: [{ provider: single, model: r }] }`,
  });
  /** Repeats the refused key, as vendors do. */
  const byCredential: Respond = (request, response) =>
    String(request.headers.authorization).endsWith(BAD)
      ? json(401, { error: { message: `Incorrect API key provided: ${BAD}`, code: 'invalid_api_key' } })(
          request,
          response,
        )
      : json(200, chatCompletion({ prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 }))(request, response);

  before(async () => {
    tested = await startProvider();
    gateway = await startGateway(options());
    account = await gateway.createAccount();
  });
  after(async () => {
    await gateway?.stop();
    await tested?.close();
    directory.remove();
  });
  beforeEach(() => {
    tested.requests.length = 0;
    tested.respond = byCredential;
  });

  const test = (provider: string, body: object = {}) => gateway.admin('POST', `/providers/${provider}/test`, body);
  const sent = () => tested.requests.map(({ body }) => JSON.parse(body.toString()));

  it('reports each credential separately, with the usage and its cost', async () => {
    const { status, body } = await test('several');
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(
      [body.provider, body.operation, body.model, body.providerModel, body.priceRule],
      ['several', 'chat', 'tried', 'x', 'base'],
    );
    const [good, bad] = body.results;
    assert.deepEqual(
      [good.credential, good.status, good.httpStatus, good.message],
      ['apiKeys.0', 'succeeded', 200, null],
    );
    assert.deepEqual([good.usage.inputTokens, good.usage.outputTokens, good.chargeYuan], [5, 1, '0.000028']);
    assert.deepEqual([bad.credential, bad.status, bad.httpStatus, bad.usage], ['apiKeys.1', 'failed', 401, null]);
    assert.match(bad.message, /Incorrect API key provided: \[/);
    assert.doesNotMatch(JSON.stringify(body), /secret-key/);
    assert.deepEqual(sent()[0], { model: 'x', messages: [{ role: 'user', content: 'ping' }], max_tokens: 1 });
  });

  it('charges nobody, affects no breaker, and leaves credentials unchanged', async () => {
    tested.respond = json(500, { error: { message: 'Oops.' } });
    const { body } = await test('single');
    assert.deepEqual([body.results[0].status, body.results[0].httpStatus], ['failed', 500]);
    tested.respond = byCredential;
    await test('several');
    const { data } = (await gateway.admin('GET', '/routes')).body;
    const routes = data.filter(({ model }: { model: string }) => model === 'tried');
    for (const route of routes) {
      assert.deepEqual([route.state, route.failuresInARow], ['closed', 0]);
      for (const credential of route.credentials) assert.equal(credential.state, 'active');
    }
    assert.deepEqual(await account.money(), { balanceNano: 100_000_000_000n, heldNano: 0n });
    assert.deepEqual((await gateway.admin('GET', '/calls')).body.data, []);
  });

  it('uses another parameter if a model rejects the token limit', async () => {
    tested.respond = (request, response) =>
      JSON.parse(request.body.toString()).max_tokens === undefined
        ? chatResponse()(request, response)
        : json(400, { error: { message: "Use 'max_completion_tokens' instead." } })(request, response);
    assert.equal((await test('single')).body.results[0].status, 'succeeded');
    assert.equal(sent()[1].max_completion_tokens, 16);
  });

  it('tests other operations, and models that are not in the catalog', async () => {
    const unknown = await test('bare', { model: 'not-yet' });
    assert.deepEqual(
      [
        unknown.body.model,
        unknown.body.providerModel,
        unknown.body.results[0].status,
        unknown.body.results[0].chargeYuan,
      ],
      [null, 'not-yet', 'succeeded', null],
    );
    tested.respond = json(200, {
      results: [{ index: 0, relevance_score: 0.1 }],
      meta: { billed_units: { search_units: 1 } },
    });
    const rerank = await test('single', { model: 'reranked' });
    assert.deepEqual([rerank.body.operation, rerank.body.results[0].chargeYuan], ['rerank', '0.02']);
    assert.equal(tested.requests.at(-1)!.path, '/v1/rerank');
    // An image has its usual cost.
    const asked = tested.requests.length;
    const picture = await test('single', { model: 'painted' });
    assert.equal(picture.status, 400);
    assert.match(picture.body.error.message, /name the operation: chat, /);
    assert.equal(tested.requests.length, asked);
  });

  it('reports connection failures, missing usage and unknown names', async () => {
    const away = (await test('away')).body.results[0];
    assert.deepEqual([away.status, away.httpStatus, away.firstByteMs], ['failed', null, null]);
    assert.match(away.message, /ECONNREFUSED/);
    tested.respond = json(200, chatCompletion(null));
    assert.match((await test('single')).body.results[0].message, /lacks the usage/);
    assert.equal((await test('nowhere')).status, 404);
    assert.match((await test('bare')).body.error.message, /^No model has a route to the provider bare/);
    assert.match(
      (await test('single', { operation: 'messages' })).body.error.message,
      /^This operation cannot be tested/,
    );
  });

  it('is a command, with or without a gateway, and fails if a credential does', async () => {
    const through = await runCommand(['provider', 'test', 'several', 'tried', '--gateway', gateway.url], {
      FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    });
    assert.equal(through.code, 1, through.stderr);
    assert.match(through.stdout, /^apiKeys\.0 +succeeded +200 +\d+ +\d+ +inputTokens 5, outputTokens 1 +0\.000028$/m);
    assert.match(through.stdout, /^apiKeys\.1 +failed +401 .*Incorrect API key provided/m);

    const file = join(directory.path, 'alone.yaml');
    writeFileSync(file, testConfigText(tested.url, { ...options(), dataDir: join(directory.path, 'none') }));
    const alone = await runCommand(['provider', 'test', 'single', '--config', file, '--json'], {});
    assert.equal(alone.code, 0, alone.stderr);
    assert.equal(JSON.parse(alone.stdout).results[0].chargeYuan, '0.000028');
    const unknown = await runCommand(['provider', 'test', 'sinlge', '--config', file], {});
    assert.equal(unknown.code, 3);
    assert.match(
      unknown.stderr,
      /^There is no provider "sinlge"\. Did you mean "single"\? Known: chatty, messy, several/,
    );
  });
});
