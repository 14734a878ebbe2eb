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
  message,
  type Respond,
  type ScriptedProvider,
  startProvider,
} from '../support/provider.ts';

/** An operator tests a provider with a minimal call for each of its credentials: `POST /admin/v1/providers/:id/test`. */

const GOOD = 'good-secret-key';
const BAD = 'withdrawn-secret-key';

interface Trial {
  readonly tried: string;
  readonly status: string;
  readonly httpStatus: number;
}

const CALL = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":2,"b":3}' } };
const refusal = (message: string): Respond => json(400, { error: { message, type: 'invalid_request_error' } });

/** Reasons unless `thinking` turns it off, and refuses turns with calls whose reasoning is not there. Other fields are ignored. */
const strictProvider: Respond = (request, response) => {
  const { temperature, thinking, tools, messages } = JSON.parse(request.body.toString());
  const last = messages.at(-1);
  const answered = messages.find(({ tool_calls }: { tool_calls?: object }) => tool_calls !== undefined);
  if (temperature !== undefined) return refusal('temperature is fixed for this model')(request, response);
  if (answered !== undefined && answered.reasoning_content !== 'I add.')
    return refusal('The `reasoning_content` must be passed back.')(request, response);
  const message = {
    role: 'assistant',
    content: 'four',
    ...(thinking?.type !== 'disabled' && { reasoning_content: 'I add.' }),
    ...(tools !== undefined && last.role === 'user' && { content: null, tool_calls: [CALL] }),
  };
  return json(200, { ...chatCompletion(), choices: [{ index: 0, message, finish_reason: 'stop' }] })(request, response);
};

/** Thinks within a budget, and refuses calls of tools whose thinking is not signed by itself. */
const strictMessages: Respond = (request, response) => {
  const { thinking, tools, messages } = JSON.parse(request.body.toString());
  if (thinking?.type === 'adaptive') return refusal('thinking.type: adaptive is not supported')(request, response);
  const [, assistant] = messages;
  if (assistant !== undefined && assistant.content[0].signature !== 'signed-by-the-vendor')
    return refusal('Expected `thinking` with its signature.')(request, response);
  const thought = { type: 'thinking', thinking: 'I add.', signature: 'signed-by-the-vendor' };
  const content = [
    ...(thinking?.type === 'enabled' ? [thought] : []),
    tools !== undefined && assistant === undefined
      ? { type: 'tool_use', id: 'toolu_1', name: 'add', input: { a: 2, b: 3 } }
      : { type: 'text', text: 'four' },
  ];
  return json(200, { ...message(), content })(request, response);
};

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
  letters: { protocol: messages, baseUrl: "${tested.url}", apiKey: ${GOOD} }
  away: { protocol: chat, baseUrl: "http://127.0.0.1:1/v1", apiKey: ${GOOD} }`,
    models: `
  painted: { operations: [images.generate], price: { perImage: "1" }, routes: [{ provider: single, model: painter }] }
  tried: { operations: [chat], price: { input: "3", output: "13" }, routes: [{ provider: several, model: x }, { provider: single, model: y }, { provider: away, model: z }] }
  translated: { operations: [messages], price: { input: "3", output: "13" }, routes: [{ provider: single, model: t, translate: [messages] }] }
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
    // A model that is only translated is tested in the protocol of the provider.
    tested.respond = byCredential;
    assert.equal((await test('single', { model: 'translated' })).body.operation, 'chat');
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

  it('finds the dialect of a provider for translated requests, and says what failed in its words', async () => {
    tested.respond = strictProvider;
    const { status, body } = await gateway.admin('POST', '/providers/bare/dialect', { model: 'thinker' });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(body.dialect, { drops: ['temperature'], reasoning: 'thinking', replay: 'reasoning_content' });
    assert.equal(body.yaml, 'dialect: { drops: [temperature], reasoning: thinking, replay: reasoning_content }');
    assert.deepEqual(
      body.trials.map(({ tried, status, httpStatus }: Trial) => [tried, status, httpStatus]),
      [
        ['defaults', 'failed', 400],
        ['drops: [temperature]', 'succeeded', 200],
        ['reasoning: effort', 'failed', 200],
        ['reasoning: thinking', 'succeeded', 200],
        ['a call of a tool', 'succeeded', 200],
        ['replay: reasoning_content', 'succeeded', 200],
        ['takes: [json_schema]', 'failed', 200],
      ],
    );
    assert.match(body.trials[0].message, /^.*temperature is fixed for this model/);
    assert.deepEqual(await account.money(), { balanceNano: 100_000_000_000n, heldNano: 0n });

    const found = await runCommand(['provider', 'test', 'bare', 'thinker', '--translated', '--gateway', gateway.url], {
      FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    });
    assert.equal(found.code, 0, found.stderr);
    assert.match(found.stdout, /^reasoning: effort +failed +200 +\d+ +The model still reasons\.$/m);
    assert.ok(found.stdout.endsWith(`\n\n${body.yaml}\n`), found.stdout);
  });

  it('finds that the defaults suffice, or no dialect if a model calls no tools', async () => {
    const answers = (toolCalls: object | null): Respond => {
      const message = { role: 'assistant', content: 'four', ...toolCalls };
      return json(200, { ...chatCompletion(), choices: [{ index: 0, message, finish_reason: 'stop' }] });
    };
    tested.respond = (request, response) => {
      const { tools, messages } = JSON.parse(request.body.toString());
      const isCalled = tools !== undefined && messages.at(-1).role === 'user';
      answers(isCalled ? { tool_calls: [CALL] } : null)(request, response);
    };
    const plain = await gateway.admin('POST', '/providers/bare/dialect', { model: 'plain' });
    assert.deepEqual([plain.body.dialect, plain.body.yaml], [{}, '']);
    tested.respond = answers(null);
    const without = await gateway.admin('POST', '/providers/bare/dialect', { model: 'plain' });
    assert.deepEqual([without.body.dialect, without.body.yaml], [null, null]);
    assert.equal(without.body.trials.at(-1).message, 'The model did not call the tool.');
    assert.equal((await gateway.admin('POST', '/providers/nowhere/dialect', {})).status, 404);
  });

  it('finds how a messages provider thinks, with a call of a tool that returns the signed block', async () => {
    tested.respond = strictMessages;
    const { body } = await gateway.admin('POST', '/providers/letters/dialect', { model: 'thinker' });
    assert.deepEqual(body.dialect, { thinking: 'budget' });
    assert.equal(body.trials[1].message.includes('adaptive is not supported'), true);
    assert.equal(tested.requests.at(-1)!.path, '/v1/messages');
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
    const both = ['--operation', 'chat', '--translated'];
    assert.equal((await runCommand(['provider', 'test', 'single', '--config', file, ...both], {})).code, 2);
    const unknown = await runCommand(['provider', 'test', 'sinlge', '--config', file], {});
    assert.equal(unknown.code, 3);
    assert.match(
      unknown.stderr,
      /^There is no provider "sinlge"\. Did you mean "single"\? Known: chatty, messy, several/,
    );
  });
});
