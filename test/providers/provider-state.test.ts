import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { call } from '../support/client.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatCompletion, event, json, message, sse } from '../support/provider.ts';
import { responseObject, responsesStream } from '../support/responses.ts';
import { until } from '../support/until.ts';

/** Provider state belongs to the account that received it in a response (docs/provider-state.md). */

const OUTPUT = [
  { type: 'reasoning', id: 'rs_1', summary: [] },
  { type: 'code_interpreter_call', id: 'ci_1', container_id: 'cntr_1', code: '1+1', status: 'completed', outputs: [] },
  { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'aGk=' },
  {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [
      {
        type: 'output_text',
        text: 'See the file.',
        annotations: [
          { type: 'container_file_citation', container_id: 'cntr_2', file_id: 'cfile_1', filename: 'a.csv' },
        ],
      },
    ],
  },
];

const MODEL = { model: 'test-responses' };
const input = (...items: object[]) => ({ ...MODEL, input: items });

/** Requests that refer to state in the response above, with the member that refers. */
const references: readonly [what: string, body: object, param: string][] = [
  ['a previous response', { ...MODEL, input: 'x', previous_response_id: 'resp_7' }, 'previous_response_id'],
  ['an item reference', input({ type: 'item_reference', id: 'msg_1' }), 'input[0].id'],
  ['only an id', input({ role: 'user', content: 'x' }, { id: 'msg_1' }), 'input[1].id'],
  [
    'a message without content',
    input({ type: 'message', id: 'msg_1', status: 'completed', content: [] }),
    'input[0].id',
  ],
  ['reasoning without its content', input({ type: 'reasoning', id: 'rs_1', summary: [{ text: 'x' }] }), 'input[0].id'],
  ['a generated image', input({ type: 'image_generation_call', id: 'ig_1', result: null }), 'input[0].id'],
  ['a container', { ...MODEL, tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }, 'tools[0].container'],
  [
    'a container in an item',
    input({ type: 'code_interpreter_call', id: 'ci_1', code: '1', container_id: 'cntr_2' }),
    'input[0].container_id',
  ],
  [
    'a container of a tool added in the middle',
    input({
      type: 'additional_tools',
      role: 'developer',
      tools: [{ type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_1' } }],
    }),
    'input[0].tools[0].environment.container_id',
  ],
  [
    'a container of a tool from a search',
    input({ type: 'tool_search_output', tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }),
    'input[0].tools[0].container',
  ],
  [
    'a relay extension',
    { ...MODEL, extra_body: { previous_response_id: 'resp_7' } },
    'extra_body.previous_response_id',
  ],
  ['a new field', { ...MODEL, input: 'x', follow_up: { of: 'resp_7' } }, 'follow_up.of'],
  ['an item of a new type', input({ type: 'new_item', id: 'msg_1' }), 'input[0].id'],
];

/** Requests that refer to state that no endpoint of the gateway creates. */
const never: readonly [what: string, body: object, param: string][] = [
  ['a conversation', { ...MODEL, input: 'x', conversation: 'conv_1' }, 'conversation'],
  ['a conversation object', { ...MODEL, input: 'x', conversation: { id: 'conv_1' } }, 'conversation.id'],
  ['a stored prompt', { ...MODEL, prompt: { id: 'pmpt_1', version: '2' } }, 'prompt.id'],
  [
    'a vector store',
    { ...MODEL, input: 'x', tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
    'tools[0].vector_store_ids[0]',
  ],
  [
    'a file',
    input({ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }),
    'input[0].content[0].file_id',
  ],
  [
    'a file in a container',
    { ...MODEL, input: 'x', tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['file-1'] } }] },
    'tools[0].container.file_ids[0]',
  ],
  [
    'a skill of a tool',
    {
      ...MODEL,
      input: 'x',
      tools: [{ type: 'shell', environment: { skills: [{ type: 'skill_reference', skill_id: 'skill_1' }] } }],
    },
    'tools[0].environment.skills[0].skill_id',
  ],
  [
    'a tunnel',
    { ...MODEL, input: 'x', tools: [{ type: 'mcp', server_label: 'x', tunnel_id: 'tunnel_1' }] },
    'tools[0].tunnel_id',
  ],
  [
    'a conversation in a relay extension',
    { ...MODEL, input: 'x', extra_body: { conversation: 'conv_1' } },
    'extra_body.conversation',
  ],
  ["a server's cache", { ...MODEL, input: 'x', kv_transfer_params: { remote_host: 'h' } }, 'kv_transfer_params'],
  ['another server', { ...MODEL, input: 'x', bootstrap_host: 'h' }, 'bootstrap_host'],
];

/** Items that contain their content, whatever their ids. */
const own: readonly object[] = [
  { type: 'message', id: 'msg_9', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] },
  { id: 'msg_9', role: 'assistant', content: 'Hi' },
  { type: 'reasoning', id: 'rs_9', summary: [], encrypted_content: 'gAAA' },
  { type: 'function_call', id: 'fc_9', call_id: 'c', name: 'f', arguments: '{}' },
  { type: 'image_generation_call', id: 'ig_9', result: 'aGk=' },
  { type: 'function_call_output', call_id: 'c', output: 'x' },
];

describe(`provider state`, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({
      models: `  test-audio: { operations: [chat], price: { input: "3", output: "13", audioInput: "3", audioOutput: "13" }, routes: [{ provider: chatty, model: x }] }`,
    });
    gateway.provider.respond = (request, response) => {
      const { stream } = JSON.parse(request.body.toString()) as { stream?: boolean };
      const parts = { id: 'resp_7', output: OUTPUT };
      (stream ? sse(responsesStream({ items: OUTPUT, response: parts })) : json(200, responseObject(parts)))(
        request,
        response,
      );
    };
  });
  after(() => gateway.stop());

  const send = (account: TestAccount, body: object) => call(`${gateway.url}/v1/responses`, account.key, body);

  async function assertUnknown(account: TestAccount, body: object, status: number, param: string): Promise<void> {
    const asked = gateway.provider.requests.length;
    const { balanceNano } = await account.money();
    const response = await send(account, body);
    assert.equal(response.status, status, response.text);
    assert.equal(response.json.error.param, param);
    assert.equal(gateway.provider.requests.length, asked, 'the provider must not receive it');
    assert.deepEqual(await account.money(), { balanceNano, heldNano: 0n });
  }

  for (const isStream of [false, true]) {
    test(`in ${isStream ? 'a stream' : 'a response'} may be referred to by its account, and by no other`, async () => {
      const [maker, stranger] = [await gateway.createAccount(), await gateway.createAccount()];
      for (const [, body, param] of references) await assertUnknown(maker, body, 404, param);
      assert.equal((await send(maker, { ...MODEL, input: 'x', stream: isStream })).status, 200);
      for (const [what, body, param] of references) {
        const response = await send(maker, body);
        assert.equal(response.status, 200, `${what}: ${response.text}`);
        await assertUnknown(stranger, body, 404, param);
      }
    });
  }

  test('includes files that a tool created and a response to the account cited', async () => {
    const account = await gateway.createAccount();
    const body = {
      ...MODEL,
      input: 'x',
      tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['cfile_1'] } }],
    };
    await assertUnknown(account, body, 400, 'tools[0].container.file_ids[0]');
    assert.equal((await send(account, { ...MODEL, input: 'x' })).status, 200);
    assert.equal((await send(account, body)).status, 200);
  });

  test('that no endpoint creates is refused, with the vendor’s message for unknown ids', async () => {
    const account = await gateway.createAccount();
    for (const [, body, param] of never) await assertUnknown(account, body, 400, param);
    const response = await send(account, { ...MODEL, input: 'x', previous_response_id: 'resp_of_another' });
    assert.equal(response.json.error.message, "Previous response with id 'resp_of_another' not found.");
  });

  test('is not referred to by an item that contains its content, whatever its id', async () => {
    const account = await gateway.createAccount();
    const response = await send(account, input(...own));
    assert.equal(response.status, 200, response.text);
  });

  test('is refused if a reference is duplicated or spelled differently', async () => {
    const account = await gateway.createAccount();
    for (const body of [
      '{"model":"test-responses","input":[{"type":"item_reference","Id":"msg_1"}]}',
      '{"model":"test-responses","input":[{"type":"message","type":"item_reference","id":"msg_1"}]}',
      '{"model":"test-responses","input":"x","Previous_Response_Id":"resp_7"}',
      '{"model":"test-responses","input":"x","tools":[{"type":"file_search","vector_ſtore_ids":["vs_1"]}]}',
    ]) {
      const response = await call(`${gateway.url}/v1/responses`, account.key, body);
      assert.equal(response.status, 400, `${body}: ${response.text}`);
    }
  });

  test('is looked up for 4,096 references; more are refused', async () => {
    const account = await gateway.createAccount();
    assert.equal((await send(account, { ...MODEL, input: 'x' })).status, 200);
    const items = (count: number) =>
      input(...Array.from({ length: count }, () => ({ type: 'item_reference', id: 'msg_1' })));
    assert.equal((await send(account, items(4_096))).status, 200);
    await assertUnknown(account, items(4_097), 400, 'input[4096].id');
  });

  test('includes a container in a messages response for its account only, and files for none', async () => {
    const [maker, stranger] = [await gateway.createAccount(), await gateway.createAccount()];
    const request = { model: 'test-messages', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] };
    const ask = (account: TestAccount, more: object) =>
      call(`${gateway.url}/v1/messages`, account.key, { ...request, ...more });
    const { respond } = gateway.provider;
    const usage = { input_tokens: 11, output_tokens: 7 };
    for (const isStream of [false, true]) {
      const id = `container_${isStream}`;
      gateway.provider.respond = isStream
        ? sse([
            event('message_start', { message: { ...message({ input_tokens: 11, output_tokens: 1 }), content: [] } }),
            event('message_delta', { delta: { stop_reason: 'end_turn', container: { id } }, usage }),
            event('message_stop'),
          ])
        : json(200, { ...message(usage), container: { id, expires_at: '2026-11-22T00:00:00Z' } });
      assert.equal((await ask(maker, { stream: isStream })).status, 200);
      for (const container of [id, { id, skills: [{ type: 'anthropic', skill_id: 'pptx' }] }]) {
        assert.equal((await ask(maker, { container, stream: isStream })).status, 200);
        const refused = await ask(stranger, { container });
        assert.equal(refused.status, 404, refused.text);
        assert.equal(refused.json.error.type, 'not_found_error');
      }
    }
    for (const content of [
      [{ type: 'document', source: { type: 'file', file_id: 'file_1' } }],
      [{ type: 'container_upload', file_id: 'file_1' }],
      [
        {
          type: 'tool_result',
          tool_use_id: 't',
          content: [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }],
        },
      ],
    ]) {
      assert.equal((await ask(maker, { messages: [{ role: 'user', content }] })).status, 400);
    }
    const skills = [{ type: 'custom', skill_id: 'skill_1' }];
    assert.equal((await ask(maker, { container: { skills } })).status, 400);
    gateway.provider.respond = respond;
  });

  test('includes audio in a chat response for its account only, and files for none', async () => {
    const [maker, stranger] = [await gateway.createAccount(), await gateway.createAccount()];
    const request = { model: 'test-audio', audio: { voice: 'alloy', format: 'wav' } };
    const ask = (account: TestAccount, messages: object[], more: object = {}) =>
      call(`${gateway.url}/v1/chat/completions`, account.key, { ...request, messages, ...more });
    const { respond } = gateway.provider;
    const usage = { prompt_tokens: 11, completion_tokens: 7 };
    const hello = { role: 'user', content: 'x' };
    for (const isStream of [false, true]) {
      const audio = { id: `audio_${isStream}`, data: 'aGk=' };
      const delta = { choices: [{ index: 0, delta: { audio }, finish_reason: null }] };
      gateway.provider.respond = isStream
        ? sse([
            `data: ${JSON.stringify(delta)}\n\n`,
            `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
            'data: [DONE]\n\n',
          ])
        : json(200, { ...chatCompletion(usage), choices: [{ index: 0, message: { role: 'assistant', audio } }] });
      assert.equal((await ask(maker, [hello], { stream: isStream })).status, 200);
      const history = [hello, { role: 'assistant', audio: { id: audio.id } }];
      assert.equal((await ask(maker, history, { stream: isStream })).status, 200);
      const refused = await ask(stranger, history);
      assert.equal(refused.status, 404, refused.text);
      assert.equal(refused.json.error.param, 'messages[1].audio.id');
    }
    const file = { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] };
    assert.equal((await ask(maker, [file])).status, 400);
    gateway.provider.respond = respond;
  });

  test('is recorded in the journal if the database is down, and known when it is up again', async () => {
    const account = await gateway.createAccount();
    const records = gateway.observed.statement('settlement.end');
    records.fail('before');
    const response = await send(account, { ...MODEL, input: 'x' });
    assert.equal(response.status, 200, response.text);
    records.recover();
    const body = { ...MODEL, input: 'x', previous_response_id: 'resp_7' };
    await records.reached(records.asked + 1);
    await until(async () => (await send(account, body)).status === 200);
  });
});

test('an operator whose accounts belong to one customer may allow references to all provider state', async () => {
  await using gateway = await startGateway({ providerFields: 'sharedState: pass' });
  const account = await gateway.createAccount();
  gateway.provider.respond = json(200, responseObject());
  for (const [what, body] of [...references, ...never]) {
    const response = await call(`${gateway.url}/v1/responses`, account.key, body);
    assert.equal(response.status, 200, `${what}: ${response.text}`);
  }
});

test('a messages thread is refused; if it is shared, its unknown size is reserved', async () => {
  const thread = (previous_message_id: string) => ({ type: 'continue', previous_message_id });
  const request = { model: 'test-messages', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] };
  for (const more of [{ thread: thread('msg_1') }, { extra_body: { thread: thread('msg_1') } }]) {
    await using own = await startGateway();
    const stranger = await own.createAccount();
    const refused = await call(`${own.url}/v1/messages`, stranger.key, { ...request, ...more });
    assert.equal(refused.status, 400, refused.text);
    assert.equal(own.provider.requests.length, 0);
    await using shared = await startGateway({ providerFields: 'sharedState: pass' });
    const held: bigint[] = [];
    const account = await shared.createAccount();
    shared.provider.respond = async (received, response) => {
      held.push((await account.money()).heldNano);
      json(200, message({ input_tokens: 11, output_tokens: 7 }))(received, response);
    };
    for (const body of [request, { ...request, ...more }]) {
      const response = await call(`${shared.url}/v1/messages`, account.key, body);
      assert.equal(response.status, 200, response.text);
    }
    const [alone, continued] = held;
    assert.ok(continued! > alone! * 100n, `${alone} and ${continued}`);
  }
});
