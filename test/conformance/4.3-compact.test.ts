import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { json, type ScriptedProvider, sse, startProvider } from '../support/provider.ts';
import {
  Address,
  assertRefused,
  assertWithheld,
  badKey,
  compactionItem,
  compactionResult,
  invalid,
  RESPONSES_COST,
  responseObject,
  responsesResponse,
  responsesStream,
} from '../support/responses.ts';
import { codingAddresses, type DeadEnds, startDeadEnds } from './calls.ts';
import { codingErrorPlans, codingErrorRules } from './coding-errors.ts';
import { NOON } from './general-errors.ts';
import { assertCounted, assertPlanUse, createSubscriber, plansText } from './plans.ts';

const PATH = '/v1/responses/compact';
const MODEL = 'test-responses';
const PRICE = '{ input: "3", cachedInput: "0.7", cacheWrite: "5", output: "13" }';

/** Two providers with the same model, and models that support one of two operations. */
const models = `
  test-shared:
    affinity: off
    operations: [responses, compact]
    price: ${PRICE}
    routes: [{ provider: chatty, model: shared-first }, { provider: second, model: shared-second }]
  test-compact-only: { operations: [compact], price: ${PRICE}, routes: [{ provider: chatty, model: c }] }
  test-responses-only: { operations: [responses], price: ${PRICE}, routes: [{ provider: chatty, model: r }] }
  test-unrouted-compact: { operations: [compact], price: ${PRICE}, routes: [{ provider: messy, model: x }] }
  test-hidden-compact: { listed: false, operations: [compact], price: ${PRICE}, routes: [{ provider: chatty, model: x }] }
`;

describe('4.3 POST /v1/responses/compact', () => {
  let gateway: TestGateway;
  let second: ScriptedProvider;
  /** Chooses between providers of equal weight: 0 is the first, 0.9 the second. */
  let randomSource = 0;
  let compact: Address;
  let responses: Address;
  let coding: Address;
  /** The account for refusals, and for successes whose price does not matter. */
  let account: TestAccount;

  before(async () => {
    second = await startProvider();
    gateway = await startGateway({
      randomSource: () => randomSource,
      providers: `  second: { protocol: chat, baseUrl: ${second.url}/v1, apiKey: provider-secret-key-3 }`,
      models,
      plans: plansText({ roomy: {} }),
    });
    compact = new Address(gateway, PATH);
    coding = new Address(gateway, '/v1/coding/responses/compact');
    responses = new Address(gateway, '/v1/responses');
    account = await gateway.createAccount();
    gateway.provider.respond = responsesResponse();
  });
  after(async () => {
    await gateway.stop();
    await second.close();
  });

  const takes = (...members: readonly object[]): Promise<void> => {
    gateway.provider.respond = responsesResponse();
    return compact.takes(account, ...members.map((rest) => ({ model: MODEL, ...rest })));
  };
  const refuses = (param: string, ...members: readonly object[]): Promise<void> =>
    refusesAt(...members.map((rest) => [param, rest] as const));
  async function refusesAt(...cases: readonly (readonly [param: string, rest: object])[]): Promise<void> {
    for (const [param, rest] of cases) {
      await compact.refuses(account, { model: MODEL, ...rest }, invalid(param));
    }
  }
  const lastSent = (provider: ScriptedProvider = gateway.provider) => provider.requests.at(-1)!;

  describe('headers', () => {
    it('4.3 the header Authorization: Bearer is required', async () => {
      const body = { model: MODEL };
      const calls = gateway.provider.requests.length;
      const without = await fetch(gateway.url + PATH, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': account.key },
        body: JSON.stringify(body),
      });
      assert.equal(without.status, 401);
      assertRefused(await call(gateway.url + PATH, 'sk-wrong', body), badKey);
      assertRefused(await compact.send(account, body, { authorization: account.key }), badKey);
      assert.equal(gateway.provider.requests.length, calls);
    });

    it('4.3 the header Content-Type: application/json is required', async () => {
      const calls = gateway.provider.requests.length;
      for (const type of ['text/plain', 'multipart/form-data', 'application/x-www-form-urlencoded']) {
        const response = await compact.send(account, { model: MODEL }, { 'content-type': type });
        assertRefused(response, { status: 415, code: 'unsupported_media_type' });
      }
      assert.equal(gateway.provider.requests.length, calls);
    });

    it('4.3 another method is 405', async () => {
      const response = await fetch(gateway.url + PATH, { headers: { authorization: `Bearer ${account.key}` } });
      assert.equal(response.status, 405);
      assert.equal(response.headers.get('allow'), 'POST');
    });
  });

  describe('model', () => {
    it('4.3 the key model is required', async () => {
      await compact.refuses(account, { input: 'Hello', previous_response_id: 'resp_0' }, invalid('model'));
    });

    it('4.3 model is a string or null', async () => {
      for (const model of [1, true, {}, ['test-responses'], '']) {
        await compact.refuses(account, { model }, invalid('model'));
      }
    });

    it('4.3 a model that does not exist, or is not listed, is 404 model_not_found', async () => {
      for (const model of ['nowhere', 'test-hidden-compact']) {
        await compact.refuses(account, { model }, { status: 404, code: 'model_not_found', param: 'model' });
      }
    });

    it('4.3 a model without compaction is 400 model_not_found', async () => {
      for (const model of ['test-chat', 'test-responses-only']) {
        await compact.refuses(account, { model }, { status: 400, code: 'model_not_found', param: 'model' });
      }
    });

    it('4.3 a model of the other protocol is 404 MODEL_ROUTING_PROTOCOL_UNSUPPORTED', async () => {
      await compact.refuses(
        account,
        { model: 'test-messages' },
        { status: 404, code: 'MODEL_ROUTING_PROTOCOL_UNSUPPORTED', param: 'model' },
      );
    });

    it('4.3 a model without a provider of the protocol is 503 MODEL_ROUTING_NOT_CONFIGURED', async () => {
      await compact.refuses(
        account,
        { model: 'test-unrouted-compact' },
        { status: 503, code: 'MODEL_ROUTING_NOT_CONFIGURED', param: 'model', type: 'api_error' },
      );
    });

    it('4.3 model null is 400 if nothing restores it', () =>
      refuses(
        'model',
        { model: null },
        { model: null, input: 'Hello' },
        { model: null, previous_response_id: 'resp_of_nobody' },
        { model: null, previous_response_id: null },
        { model: null, input: [{ ...compactionItem, encrypted_content: 'of nobody' }] },
      ));

    it('4.3 model null is restored by the previous_response_id of a response', async () => {
      gateway.provider.respond = responsesResponse({ id: 'resp_restores' });
      await responses.takes(account, { model: MODEL, input: 'Hello' });
      await takes({ model: null, previous_response_id: 'resp_restores' });
      assert.deepEqual(JSON.parse(lastSent().body.toString()), {
        model: 'upstream-responses',
        previous_response_id: 'resp_restores',
      });
      assert.equal((await account.lastCall()).model, MODEL);
    });

    it('4.3 model null is restored by the previous_response_id of a streamed response', async () => {
      gateway.provider.respond = responsesResponse({ id: 'resp_streamed' });
      await responses.takes(account, { model: MODEL, input: 'Hello', stream: true });
      await takes({ model: null, previous_response_id: 'resp_streamed' });
    });

    it('4.3 model null is restored by the id of a compaction result', async () => {
      gateway.provider.respond = responsesResponse({}, { id: 'resp_of_compact' });
      await compact.takes(account, { model: MODEL });
      await takes({ model: null, previous_response_id: 'resp_of_compact' });
    });

    it('4.3 model null is restored by the encrypted_content of a compaction item that was relayed', async () => {
      const item = { ...compactionItem, encrypted_content: 'made by compact' };
      gateway.provider.respond = responsesResponse({}, { id: 'resp_other_1', output: [item] });
      await compact.takes(account, { model: MODEL });
      await takes({ model: null, input: [item, { role: 'user', content: 'Go on.' }] });
    });

    it('4.3 model null is restored by a compaction item that was relayed in a stream of /v1/responses', async () => {
      const item = { ...compactionItem, encrypted_content: 'made in a stream' };
      // The end of a stream need not repeat its items.
      const response = { id: 'resp_other_2', output: [] };
      gateway.provider.respond = sse(responsesStream({ items: [item], response }));
      await responses.takes(account, { model: MODEL, input: [{ type: 'compaction_trigger' }], stream: true });
      await takes({ model: null, input: [item] });
    });

    it('4.3 model null is restored by the encrypted reasoning of a response', async () => {
      const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'thought' };
      gateway.provider.respond = responsesResponse({ id: 'resp_other_3', output: [item] });
      await responses.takes(account, { model: MODEL, input: 'Hello' });
      await takes({ model: null, input: [item] });
    });

    it('4.3 model null is not restored from state of another account', async () => {
      const item = { ...compactionItem, encrypted_content: 'of one account' };
      gateway.provider.respond = responsesResponse({}, { id: 'resp_of_one', output: [item] });
      await compact.takes(account, { model: MODEL });
      const other = await gateway.createAccount();
      for (const rest of [{ previous_response_id: 'resp_of_one' }, { input: [item] }]) {
        await compact.refuses(other, { model: null, ...rest }, invalid('model'));
      }
      await takes({ model: null, previous_response_id: 'resp_of_one' }, { model: null, input: [item] });
    });

    it('4.3 a restored model without compaction is 400 model_not_found', async () => {
      gateway.provider.respond = responsesResponse({ id: 'resp_only' });
      await responses.takes(account, { model: 'test-responses-only', input: 'Hello' });
      const refusal = { status: 400, code: 'model_not_found', param: 'model' };
      await compact.refuses(account, { model: null, previous_response_id: 'resp_only' }, refusal);
    });

    it('4.3 a named model takes precedence over the one that could be restored', async () => {
      gateway.provider.respond = responsesResponse({ id: 'resp_named' });
      await responses.takes(account, { model: MODEL, input: 'Hello' });
      await takes({ model: 'test-compact-only', previous_response_id: 'resp_named' });
      assert.equal((await account.lastCall()).model, 'test-compact-only');
    });
  });

  it('4.3 model null is still restored after a restart of the gateway (postgresql)', async () => {
    const item = { ...compactionItem, encrypted_content: 'made before the restart' };
    const stored = await createTestDatabase();
    try {
      const owner = await beforeRestart(stored, item);
      await afterRestart(stored, owner, item);
    } finally {
      await stored.remove();
    }
  });

  async function beforeRestart(stored: TestDatabase, item: object): Promise<TestAccount> {
    const first = await startGateway({ stored });
    try {
      const owner = await first.createAccount();
      first.provider.respond = responsesResponse({ id: 'resp_before' }, { output: [item] });
      await new Address(first, '/v1/responses').takes(owner, { model: MODEL, input: 'Hello', stream: true });
      await new Address(first, PATH).takes(owner, { model: MODEL });
      await assertSpent(owner, 2n * RESPONSES_COST);
      return owner;
    } finally {
      await first.stop();
    }
  }

  async function afterRestart(stored: TestDatabase, owner: TestAccount, item: object): Promise<void> {
    const next = await startGateway({ stored, database: stored.openAnother() });
    try {
      next.provider.respond = responsesResponse();
      const body = { model: null, previous_response_id: 'resp_before' };
      await new Address(next, PATH).takes(owner, body, { model: null, input: [item] });
      const { body: shown } = await next.admin('GET', `/accounts/${owner.id}`);
      assert.equal(shown.balanceYuan, '99.999504');
    } finally {
      await next.stop();
    }
  }

  describe('body fields', () => {
    it('4.3 the body is one JSON object', async () => {
      for (const body of ['', '[]', '"x"', 'null', '{"model":"test-responses"', '{"model":"test-responses",}']) {
        await compact.refuses(account, body, invalid(null));
      }
    });

    it('4.3 input is optional: a string, an array of objects or null', async () => {
      await takes({}, { input: null }, { input: '' }, { input: 'Hello' }, { input: [] }, { input: [{}] });
      await refuses('input', { input: 1 }, { input: true }, { input: {} });
      await refuses('input[0]', { input: ['Hello'] }, { input: [null] }, { input: [[]] }, { input: [1] });
      await refuses('input[1]', { input: [{}, 'Hello'] });
    });

    for (const name of ['instructions', 'previous_response_id', 'prompt_cache_key']) {
      it(`4.3 ${name} is optional: a string or null`, async () => {
        gateway.provider.respond = responsesResponse({}, { id: 'x' });
        await compact.takes(account, { model: MODEL, input: 'x' });
        await takes({ [name]: null }, { [name]: 'x' });
        await refuses(name, { [name]: 1 }, { [name]: {} }, { [name]: ['x'] }, { [name]: false });
      });
    }

    it('4.3 a prompt_cache_key of 64 characters passes', () =>
      takes({ prompt_cache_key: 'k'.repeat(64) }, { prompt_cache_key: '钥'.repeat(64) }));

    it('4.3 a prompt_cache_key of 65 characters is 400 invalid_request_error', () =>
      refuses('prompt_cache_key', { prompt_cache_key: 'k'.repeat(65) }, { prompt_cache_key: '钥'.repeat(65) }));

    it('4.3 the characters of a prompt_cache_key are counted as code points', async () => {
      await takes({ prompt_cache_key: '😀'.repeat(64) });
      await refuses('prompt_cache_key', { prompt_cache_key: '😀'.repeat(65) });
    });

    it('4.3 prompt_cache_options is an object or null', async () => {
      await takes({ prompt_cache_options: null }, { prompt_cache_options: {} });
      await refuses('prompt_cache_options', { prompt_cache_options: 'explicit' }, { prompt_cache_options: [] });
    });

    it('4.3 prompt_cache_options.mode is implicit or explicit', async () => {
      for (const mode of ['implicit', 'explicit', null]) await takes({ prompt_cache_options: { mode } });
      for (const mode of ['auto', '', 1]) {
        await refuses('prompt_cache_options.mode', { prompt_cache_options: { mode } });
      }
    });

    it('4.3 prompt_cache_options.ttl is 30m', async () => {
      await takes({ prompt_cache_options: { mode: 'explicit', ttl: '30m' } }, { prompt_cache_options: { ttl: null } });
      for (const ttl of ['24h', 30]) await refuses('prompt_cache_options.ttl', { prompt_cache_options: { ttl } });
    });

    it('4.3 prompt_cache_retention is in_memory, 24h or null', async () => {
      for (const value of ['in_memory', '24h', null]) await takes({ prompt_cache_retention: value });
      await refuses('prompt_cache_retention', { prompt_cache_retention: '30m' }, { prompt_cache_retention: 24 });
    });

    it('4.3 service_tier is auto, default, fast, flex, priority or null', async () => {
      for (const value of ['auto', 'default', 'fast', 'flex', 'priority', null]) await takes({ service_tier: value });
      await refuses('service_tier', { service_tier: 'scale' }, { service_tier: 'Auto' }, { service_tier: 1 });
    });

    it('4.3 fields that are not declared pass', () =>
      takes({ tools: [], parallel_tool_calls: false, reasoning: { effort: 'low' }, image: {}, anything: [1, null] }));

    it('4.3 a field that is read must not appear twice', async () => {
      for (const [name, value] of Object.entries({ model: MODEL, input: 'x', service_tier: 'auto' })) {
        const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
        const others = name === 'model' ? '' : `"model":"${MODEL}",`;
        await compact.refuses(account, `{${others}${member},${member}}`, invalid(name));
      }
    });
  });

  describe('input items', () => {
    const strings = [
      ...['id', 'role', 'name', 'namespace', 'call_id', 'encrypted_content', 'approval_request_id'],
      ...['authorization', 'connector_id', 'server_label', 'server_url', 'shell_id', 'type'],
    ];
    for (const name of strings) {
      it(`4.3 ${name} of an item is a string`, async () => {
        await takes({ input: [{ content: 'x', [name]: 'x' }, { [name]: null }] });
        await refusesAt(
          ...[1, true, {}, []].map((value) => [`input[0].${name}`, { input: [{ [name]: value }] }] as const),
        );
      });
    }

    it('4.3 arguments of an item may be any JSON string', () =>
      takes({
        input: ['{"city":"Beijing"}', '{}', '', 'what a model wrote is not always JSON'].map((text) => ({
          type: 'function_call',
          call_id: 'call_1',
          name: 'weather',
          arguments: text,
        })),
      }));

    it('4.3 status of an item is in_progress, completed or incomplete', async () => {
      await takes({ input: ['in_progress', 'completed', 'incomplete', null].map((status) => ({ status })) });
      await refuses('input[0].status', { input: [{ status: 'done' }] }, { input: [{ status: 1 }] });
    });

    it('4.3 a status that the vendor gives to its own calls passes, so that a history can be sent back', () =>
      takes({ input: [{ type: 'web_search_call', id: 'ws_1', status: 'searching' }, { status: 'failed' }] }));

    it('4.3 content of an item is a string or an array of objects', async () => {
      await takes({ input: [{ content: 'x' }, { content: [] }, { content: [{ type: 'input_text', text: 'x' }] }] });
      await refuses('input[0].content', { input: [{ content: 1 }] }, { input: [{ content: { type: 'input_text' } }] });
      await refuses('input[0].content[0]', { input: [{ content: ['x'] }] }, { input: [{ content: [null] }] });
    });

    for (const name of ['caller', 'command']) {
      it(`4.3 ${name} of an item is an object`, async () => {
        await takes({ input: [{ [name]: {} }, { [name]: { any: 1 } }, { [name]: null }] });
        await refusesAt(...['x', 1, []].map((value) => [`input[0].${name}`, { input: [{ [name]: value }] }] as const));
      });
    }

    it('4.3 action of an item is an object', async () => {
      await takes({ input: [{ action: { type: 'click', x: 1, y: 2 } }] });
      await refuses('input[0].action', { input: [{ action: 1 }] }, { input: [{ action: [] }] });
    });

    it('4.3 output of an item is an object', async () => {
      await takes({ input: [{ output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,AAAA' } }] });
      await refuses('input[0].output', { input: [{ output: 1 }] }, { input: [{ output: true }] });
    });

    it('4.3 output of an item may be text or blocks too, as functions respond', () =>
      takes({ input: [{ type: 'function_call_output', output: '15 °C' }, { output: [{ stdout: '', stderr: '' }] }] }));

    it('4.3 approve of an item is a boolean', async () => {
      await takes({ input: [{ approve: true }, { approve: false }, { approve: null }] });
      await refuses('input[0].approve', { input: [{ approve: 'true' }] }, { input: [{ approve: 1 }] });
    });

    for (const name of ['commands', 'queries']) {
      it(`4.3 ${name} of an item is an array of strings`, async () => {
        await takes({ input: [{ [name]: [] }, { [name]: ['x', ''] }] });
        await refuses(`input[0].${name}`, { input: [{ [name]: 'x' }] }, { input: [{ [name]: {} }] });
        await refuses(`input[0].${name}[1]`, { input: [{ [name]: ['x', 1] }] });
      });
    }

    for (const name of ['results', 'summary', 'tools', 'acknowledged_safety_checks', 'pending_safety_checks']) {
      it(`4.3 ${name} of an item is an array of objects`, async () => {
        const open = name === 'tools' ? { type: 'function', any: 1 } : { any: 1 };
        await takes({ input: [{ [name]: [] }, { [name]: [{}, open] }] });
        await refuses(`input[0].${name}`, { input: [{ [name]: 'x' }] }, { input: [{ [name]: {} }] });
        await refuses(`input[0].${name}[1]`, { input: [{ [name]: [{}, 'x'] }] });
      });
    }

    it('4.3 items are open: other types and fields pass', () =>
      takes({ input: [{ type: 'compaction_trigger' }, { type: 'made_up', made_up: { deep: [1] } }] }));

    it('4.3 an existing compaction item may be sent, and its encrypted_content reaches the provider unread', async () => {
      const opaque = 'gAAA"\\u0041\\/é\\n=='.replace('"', '');
      const body = `{"model":"${MODEL}","input":[{"type":"compaction","id":"cmp_9","encrypted_content":"${opaque}"}]}`;
      gateway.provider.respond = responsesResponse();
      await compact.takes(account, body);
      assert.equal(lastSent().body.toString(), body.replace(MODEL, 'upstream-responses'));
    });
  });

  describe('content blocks', () => {
    const inBlock = (block: object): object => ({ input: [{ role: 'user', content: [block] }] });

    it('4.3 type of a content block is required', async () => {
      await takes(
        inBlock({ type: 'input_text', text: 'x' }),
        inBlock({ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }),
        inBlock({ type: 'input_file', file_url: 'https://files.example/a.pdf', filename: 'a.pdf' }),
      );
      await refuses('input[0].content[0].type', inBlock({ text: 'x' }), inBlock({ type: null }), inBlock({ type: 1 }));
    });

    it('4.3 blocks of other types pass, so that a history with responses can be sent back', () =>
      takes(
        inBlock({ type: 'output_text', text: 'x', annotations: [{ type: 'file_citation', file_id: 'file_1' }] }),
        inBlock({ type: 'refusal', refusal: 'x' }),
      ));

    for (const name of ['text', 'image_url', 'file_data', 'file_url', 'filename']) {
      it(`4.3 ${name} of a content block is a string`, async () => {
        for (const type of ['input_text', 'input_image', 'input_file']) {
          await takes(inBlock({ type, [name]: 'x' }), inBlock({ type, [name]: null }));
          await refuses(`input[0].content[0].${name}`, inBlock({ type, [name]: 1 }), inBlock({ type, [name]: {} }));
        }
      });
    }

    it('4.3 detail of a content block is auto, low, high or original', async () => {
      for (const detail of ['auto', 'low', 'high', 'original', null]) {
        await takes(inBlock({ type: 'input_image', detail, image_url: 'https://images.example/a.png' }));
      }
      await refuses(
        'input[0].content[0].detail',
        inBlock({ type: 'input_image', detail: 'medium' }),
        inBlock({ type: 'input_image', detail: 1 }),
      );
    });

    it('4.3 prompt_cache_breakpoint of a content block is an object', async () => {
      const block = { type: 'input_text', text: 'x' };
      await takes(
        inBlock({ ...block, prompt_cache_breakpoint: {} }),
        inBlock({ ...block, prompt_cache_breakpoint: null }),
      );
      await refuses('input[0].content[0].prompt_cache_breakpoint', inBlock({ ...block, prompt_cache_breakpoint: 'x' }));
    });

    it('4.3 file_id of a content block is 400 invalid_request_error', () =>
      refuses(
        'input[0].content[0].file_id',
        inBlock({ type: 'input_file', file_id: 'file_1' }),
        inBlock({ type: 'input_image', file_id: 'file_1', image_url: 'https://images.example/a.png' }),
        inBlock({ type: 'made_up', file_id: 'file_1' }),
        inBlock({ type: 'input_file', file_id: 7 }),
      ));

    it('4.3 file_id in the output of a tool, and in an item itself, is 400 invalid_request_error too', () =>
      refusesAt(
        ['input[1].output.file_id', { input: [{}, { output: { type: 'computer_screenshot', file_id: 'file_1' } }] }],
        ['input[0].output[1].file_id', { input: [{ output: [{}, { type: 'input_image', file_id: 'file_1' }] }] }],
        ['input[0].file_id', { input: [{ type: 'input_image', file_id: 'file_1' }] }],
      ));

    it('4.3 file_id null is none', () =>
      takes(inBlock({ type: 'input_file', file_id: null, file_url: 'https://x.example' })));
  });

  describe('what is sent and what comes back', () => {
    it('4.3 the provider gets the body byte for byte but for the model', async () => {
      const body = `\n{ "x":1.0e2,"input" :"h\\u00e9\\/", "model"\t: "test-responses-latest" ,"x":[ ],"metadata":{"model":"${MODEL}"},"instructions":null}\r\n`;
      gateway.provider.respond = responsesResponse();
      await compact.takes(account, Buffer.from(body));
      const { path, headers, body: sent } = lastSent();
      assert.equal(sent.toString(), body.replace('test-responses-latest', 'upstream-responses'));
      assert.equal(path, '/v1/responses/compact');
      assert.equal(headers.authorization, 'Bearer provider-secret-key-1');
      assert.equal(headers['content-type'], 'application/json');
    });

    it('4.3 a model of null is the only thing that a restored model replaces', async () => {
      gateway.provider.respond = responsesResponse({ id: 'resp_null' });
      await responses.takes(account, { model: MODEL, input: 'Hello' });
      const body = '{"a": null, "model" : null,"previous_response_id":"resp_null" }';
      await compact.takes(account, body);
      assert.equal(lastSent().body.toString(), body.replace('"model" : null', '"model" : "upstream-responses"'));
    });

    it('4.3 a success is 200 with the compaction result byte for byte, charged once', async () => {
      const payer = await gateway.createAccount();
      const text = `${JSON.stringify(compactionResult(), null, 2)}\n`;
      gateway.provider.respond = json(200, text);
      const response = await compact.send(payer, { model: MODEL, input: 'Hello' });
      assert.equal(response.status, 200);
      assert.equal(response.text, text);
      await assertSpent(payer, RESPONSES_COST);
      const { operation, status, usage } = await payer.lastCall();
      assert.deepEqual([operation, status, usage.source], ['compact', 'succeeded', 'observed']);
    });

    it('4.3 the response has a Content-Type and a generated x-request-id if the provider gives none', async () => {
      gateway.provider.respond = responsesResponse();
      const received = [await compact.send(account, { model: MODEL }), await compact.send(account, { model: MODEL })];
      for (const { headers } of received) assert.match(headers['content-type'] ?? '', /^application\/json\b/);
      const [first, other] = received.map(({ headers }) => headers['x-request-id']);
      assert.ok(first && other && first !== other);
    });

    it('4.3 the x-request-id is the provider’s if it sends one', async () => {
      gateway.provider.respond = json(200, compactionResult(), { 'x-request-id': 'req_of_the_provider' });
      const { headers } = await compact.send(account, { model: MODEL });
      assert.equal(headers['x-request-id'], 'req_of_the_provider');
    });

    it('4.3 retry-after and the x-ratelimit headers of the provider are kept, on success and on error', async () => {
      const limits = Object.fromEntries(
        ['limit', 'remaining', 'reset'].flatMap((what) =>
          ['input-tokens', 'output-tokens', 'requests', 'tokens'].map((of) => [
            `x-ratelimit-${what}-${of}`,
            `${what} ${of}`,
          ]),
        ),
      );
      const kept = { 'retry-after': '7', ...limits };
      const given = { ...kept, 'set-cookie': 'a=b', server: 'secret', 'x-internal-host': 'node-7' };
      for (const [status, body] of [
        [200, compactionResult()],
        [429, { error: { message: 'Slow down.', type: 'requests', code: 'rate_limit_exceeded', param: null } }],
      ] as const) {
        gateway.provider.respond = json(status, body, given);
        const response = await compact.send(account, { model: MODEL });
        assert.equal(response.status, status);
        for (const [name, value] of Object.entries(kept)) assert.equal(response.headers[name], value, name);
        for (const name of ['set-cookie', 'server', 'x-internal-host']) assert.equal(response.headers[name], undefined);
      }
    });

    it('4.3 a result that breaks 2.1 is 502 upstream_error, and nothing is charged', async () => {
      const payer = await gateway.createAccount();
      gateway.provider.respond = json(200, responseObject());
      await assertWithheld(payer, await compact.send(payer, { model: MODEL }));
    });

    it('4.3 a result larger than a megabyte is delivered byte for byte and charged', async () => {
      const payer = await gateway.createAccount();
      const text = JSON.stringify(
        compactionResult({ output: [{ ...compactionItem, encrypted_content: 'A'.repeat(3_000_000) }] }),
      );
      gateway.provider.respond = json(200, text);
      const response = await compact.send(payer, { model: MODEL });
      assert.equal(response.status, 200);
      assert.ok(response.text === text);
      await assertSpent(payer, RESPONSES_COST);
    });

    it('4.3 there is no stream: a provider that responds one has failed', async () => {
      const payer = await gateway.createAccount();
      gateway.provider.respond = sse(responsesStream());
      await assertWithheld(payer, await compact.send(payer, { model: MODEL, stream: true }));
    });

    it('4.3 an error of the provider is normalised, and nothing is charged', async () => {
      const payer = await gateway.createAccount();
      gateway.provider.respond = json(400, {
        error: { message: 'No such response.', type: 'x', code: null, param: null },
      });
      const response = await compact.send(payer, { model: MODEL, input: 'x' });
      assertRefused(response, { status: 400, code: 'invalid_request_error' });
      assert.equal(response.json.error.message, 'No such response.');
      await assertSpent(payer, 0n);
    });
  });

  describe('rules', () => {
    it('4.3 compact and responses creation are validated separately', async () => {
      gateway.provider.respond = responsesResponse();
      const onlyForCompact = { prompt_cache_key: 'k'.repeat(65), service_tier: 'scale' };
      await responses.takes(account, { model: MODEL, input: 'x', ...onlyForCompact });
      await compact.refuses(account, { model: MODEL, input: 'x', ...onlyForCompact }, invalid('prompt_cache_key'));
      const onlyForResponses = { model: MODEL, background: true };
      await compact.takes(account, onlyForResponses);
      await responses.refuses(account, onlyForResponses, invalid('background'));
      await responses.refuses(
        account,
        { model: 'test-compact-only', input: 'x' },
        { status: 400, code: 'model_not_found', param: 'model' },
      );
    });

    it('4.3 the gateway makes no summary of its own: a previous_response_id goes to the provider as it is', async () => {
      gateway.provider.respond = responsesResponse({}, { id: 'resp_made_here' });
      await compact.takes(account, { model: MODEL, input: 'x' });
      await takes({ previous_response_id: 'resp_made_here' });
      assert.equal(JSON.parse(lastSent().body.toString()).previous_response_id, 'resp_made_here');
    });

    it('4.3 a previous_response_id that no response to this account carried is not found', async () => {
      await compact.refuses(
        account,
        { model: MODEL, previous_response_id: 'resp_from_elsewhere' },
        { status: 404, code: 'not_found', param: 'previous_response_id' },
      );
    });

    it('4.3 contexts are not restored across providers: a call goes to the provider that created what it continues', async () => {
      for (const [maker, drawn] of [
        [second, 0.9],
        [gateway.provider, 0],
      ] as const) {
        const item = { ...compactionItem, encrypted_content: `made at ${drawn}` };
        const made = responsesResponse({ id: `resp_at_${drawn}` }, { id: `resp_cmp_at_${drawn}`, output: [item] });
        gateway.provider.respond = made;
        second.respond = made;
        randomSource = drawn;
        for (const address of [responses, compact]) {
          assert.equal((await address.send(account, { model: 'test-shared', input: 'Hello' })).status, 200);
        }

        // From here on, chance alone would choose the other one.
        randomSource = drawn === 0 ? 0.9 : 0;
        for (const rest of [
          { previous_response_id: `resp_at_${drawn}` },
          { previous_response_id: `resp_cmp_at_${drawn}` },
          { input: [item] },
        ]) {
          for (const model of ['test-shared', null]) {
            const calls = maker.requests.length;
            assert.equal((await compact.send(account, { model, ...rest })).status, 200);
            assert.equal(maker.requests.length, calls + 1, JSON.stringify({ model, ...rest }));
          }
        }
        const others = maker === second ? gateway.provider : second;
        const calls = others.requests.length;
        assert.equal((await compact.send(account, { model: 'test-shared', input: 'Hello' })).status, 200);
        assert.equal(others.requests.length, calls + 1);
      }
      randomSource = 0;
    });

    it('4.3 the general address fails with 429 insufficient_balance if the balance is used up', async () => {
      const poor = await gateway.createAccount({ balanceYuan: '0' });
      const response = await compact.refuses(
        poor,
        { model: MODEL },
        { status: 429, code: 'insufficient_balance', type: 'insufficient_quota' },
      );
      assert.equal(response.headers['x-should-retry'], 'false');
    });

    it('4.3 the general address fails with 429 balance_daily_limit_exceeded if the cap of the day is reached', async () => {
      const capped = await gateway.createAccount({ dailySpendCapYuan: '0.0001' });
      gateway.provider.respond = responsesResponse();
      await compact.takes(capped, { model: MODEL });
      const response = await compact.refuses(
        capped,
        { model: MODEL },
        { status: 429, code: 'balance_daily_limit_exceeded', type: 'insufficient_quota' },
      );
      assert.equal(response.headers['x-should-retry'], 'false');
      assert.match(response.json.error.message, /This quota is exhausted and will reset at .*, in /);
    });

    it('4.3 the Coding address fails with 429 insufficient_package without a plan, and does not use the balance', async () => {
      await coding.refuses(
        account,
        { model: MODEL },
        { status: 429, code: 'insufficient_package', type: 'insufficient_quota' },
      );
    });

    it('4.3 the Coding address checks key, body and model like the general one', async () => {
      assertRefused(await call(`${gateway.url}/v1/coding/responses/compact`, 'sk-wrong', { model: MODEL }), badKey);
      await coding.refuses(account, { model: MODEL, prompt_cache_key: 'k'.repeat(65) }, invalid('prompt_cache_key'));
      await coding.refuses(account, { model: null }, invalid('model'));
      await coding.refuses(account, { model: 'nowhere' }, { status: 404, code: 'model_not_found', param: 'model' });
    });

    it('4.3 a success on the Coding address counts against the plan, the call and its tokens, and costs nothing', async () => {
      const subscriber = await createSubscriber(gateway, 'roomy');
      const text = ` ${JSON.stringify(compactionResult({ x: 1.5 }), null, 3).replace('1.5', '1.50E0')}\r\n`;
      gateway.provider.respond = json(200, text);
      const response = await coding.send(subscriber, { model: 'test-responses-latest', input: 'Hello' });
      assert.equal(response.status, 200);
      assert.equal(response.text, text);
      assert.equal(lastSent().path, PATH);
      await assertCounted(gateway, subscriber, { calls: 1, tokens: 18 });
      const { operation, model } = await subscriber.lastCall();
      assert.deepEqual([operation, model], ['compact', MODEL]);
    });

    it('4.3 a failure on the Coding address counts no tokens, and the call only if the provider responded with a success', async () => {
      const subscriber = await createSubscriber(gateway, 'roomy');
      gateway.provider.respond = json(400, { error: { message: 'Not so.', type: 'x', code: null, param: null } });
      assert.equal((await coding.send(subscriber, { model: MODEL })).status, 400);
      await assertPlanUse(gateway, subscriber, { calls: 0, tokens: 0 });
      // A result that violates 2.1, after the provider has done its work.
      gateway.provider.respond = json(200, compactionResult({ usage: null }));
      await assertWithheld(subscriber, await coding.send(subscriber, { model: MODEL }));
      await assertPlanUse(gateway, subscriber, { calls: 1, tokens: 0 });
      await assertSpent(subscriber, 0n);
    });

    it('4.3 a compaction on the plan can be continued with a model of null, on either address', async () => {
      const subscriber = await createSubscriber(gateway, 'roomy');
      const item = { ...compactionItem, encrypted_content: 'made on the plan' };
      gateway.provider.respond = responsesResponse({}, { id: 'resp_cmp_on_plan', output: [item] });
      await coding.takes(subscriber, { model: MODEL, input: 'Hello' });
      await coding.takes(
        subscriber,
        { model: null, input: [item] },
        { model: null, previous_response_id: 'resp_cmp_on_plan' },
      );
      await assertCounted(gateway, subscriber, { calls: 3, tokens: 3 * 18 });
      await compact.takes(subscriber, { model: null, input: [item] });
      await assertPlanUse(gateway, subscriber, { calls: 3, tokens: 3 * 18 });
      await assertSpent(subscriber, RESPONSES_COST);
    });
  });

  describe('codes of the plan', () => {
    const clock = createTestClock(NOON);
    const address = codingAddresses.find(({ upstreamPath }) => upstreamPath === PATH)!;
    let dead: DeadEnds;
    let planned: TestGateway;
    before(async () => {
      dead = await startDeadEnds();
      planned = await startGateway({ clock, ...dead.options, plans: plansText(codingErrorPlans) });
    });
    after(async () => {
      await planned?.stop();
      await dead?.silent.close();
    });

    for (const { code, rule, show } of codingErrorRules) {
      it(`4.3 the Coding address fails with ${code} if ${rule}`, () =>
        show({ gateway: planned, clock, silent: dead.silent }, address));
    }
  });
});
