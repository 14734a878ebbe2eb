import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { call, startCall } from '../support/client.ts';
import {
  assertSpent,
  clientLeaves,
  costNano,
  PRICE,
  startGateway,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { type MetricsText, readMetrics } from '../support/openmetrics.ts';
import { chatCompletion, chatStream, json, liveResponse, message, sse } from '../support/provider.ts';
import { until } from '../support/until.ts';

/** Calls over routes that translate: what the client gets, what the provider gets, and what is charged. */

const MODELS = `  chat-only:
    operations: [chat, messages, responses]
    maxOutputTokens: "64000"
    price: ${PRICE}
    routes: [{ provider: chatty, model: upstream-chat, translate: [messages, responses], dialect: { replay: reasoning_content } }]
  only-translated:
    operations: [messages, responses]
    price: ${PRICE}
    routes: [{ provider: chatty, model: upstream-chat, translate: [messages, responses] }]
  messages-first:
    operations: [messages]
    price: ${PRICE}
    routes:
      - { provider: chatty, model: upstream-chat, priority: 0, translate: [messages] }
      - { provider: messy, model: upstream-messages, priority: 1 }
`;

const request = (rest: object = {}) => ({
  model: 'chat-only',
  max_tokens: 64,
  messages: [{ role: 'user', content: 'Say hello.' }],
  ...rest,
});
const DONE = 'data: [DONE]\n\n';
const COST = costNano({ input: 11, output: 7 });

describe('a translated call', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({
      models: MODELS,
      server: 'metrics: "127.0.0.1:0"',
      consoleSettings: 'console: { pricing: true }',
    });
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());
  const send = (body: object, { key }: TestAccount = account, headers: Record<string, string> = {}) =>
    call(`${gateway.url}/v1/messages`, key, body, { headers });
  const sent = () => JSON.parse(gateway.provider.requests.at(-1)!.body.toString('utf8'));

  test('says what was translated, left out and added', async () => {
    gateway.provider.respond = json(200, chatCompletion());
    const tools = [
      { name: 'read', input_schema: { type: 'object' } },
      { type: 'web_search_20250305', name: 'web_search' },
    ];
    const response = await send(
      request({
        tools,
        top_k: 5,
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'read', input: {} }] },
          { role: 'user', content: 'b' },
        ],
      }),
    );
    assert.equal(response.status, 200, response.text);
    assert.equal(response.headers['x-faregate-translated'], 'chat');
    assert.equal(response.headers['x-faregate-left-out'], 'tools[1](web_search),top_k');
    assert.equal(response.headers['x-faregate-added'], 'tool_result,reasoning_content');
    assert.equal(sent().model, 'upstream-chat');
    assert.equal(gateway.provider.requests.at(-1)!.headers['anthropic-version'], undefined);
  });

  test('is counted by the operations of client and provider, and by the fields that were left out and added', async () => {
    const metrics = async () => readMetrics(await (await fetch(`${gateway.gateway.metricsUrl}/metrics`)).text());
    const pair = { from: 'messages', to: 'chat' };
    const callsOf = (text: MetricsText) => text.sum('faregate_calls_translated_total', { ...pair, model: 'chat-only' });
    const before = await metrics();
    gateway.provider.respond = json(200, chatCompletion());
    await send(request({ top_k: 5, chosen_by_the_client: 1, messages: [{ role: 'user', content: 'a' }] }));
    await until(async () => callsOf(await metrics()) > callsOf(before));
    const after = await metrics();
    const counted = (member: string, effect = 'left_out') =>
      after.sum('faregate_translated_members_total', { ...pair, member, effect });
    assert.ok(counted('top_k') >= 1);
    assert.ok(counted('other') >= 1);
    assert.equal(counted('chosen_by_the_client'), 0);
  });

  test('makes a model appear wherever it offers the operation, and its route says what it translates', async () => {
    const listed = async (path: string) => {
      const headers = { authorization: `Bearer ${account.key}`, 'user-agent': 'codex_exec/0.171.0' };
      const response = await fetch(gateway.url + path, { headers });
      assert.equal(response.status, 200, path);
      return response.text();
    };
    for (const path of [
      '/v1/models',
      '/altproto/v1/models',
      '/v1/models?client_version=0.171.0',
      '/v1/models/only-translated',
      '/v1/public/models',
      '/pricing/models',
    ]) {
      assert.ok((await listed(path)).includes('"only-translated"'), path);
    }
    const { data } = (await gateway.admin('GET', '/routes')).body;
    const routes = data.filter(({ model }: { model: string }) => model === 'only-translated');
    assert.deepEqual(
      routes.map(({ translates }: { translates: string[] }) => translates),
      [['messages', 'responses']],
    );
  });

  test('is refused before anything is reserved if the protocol cannot express it', async () => {
    const poor = await gateway.createAccount();
    const before = gateway.provider.requests.length;
    const content = [{ type: 'document', source: { type: 'url', url: 'https://a.example/b.pdf' } }];
    const response = await send(request({ messages: [{ role: 'user', content }] }), poor);
    assert.equal(response.status, 400);
    assert.equal(response.json.error.type, 'invalid_request_error');
    assert.match(response.json.error.message, /messages\[0\]\.content\[0\]\.source/);
    assert.match(response.json.error.message, /served by translation/);
    assert.equal(gateway.provider.requests.length, before);
    await assertSpent(poor, 0n);
  });

  test('uses a native route first, whatever the priorities, and a translated one if that fails', async () => {
    const own = await gateway.createAccount();
    gateway.provider.respond = (received, response) => {
      const isNative = received.path === '/v1/messages';
      return json(
        isNative ? 529 : 200,
        isNative ? { type: 'error', error: { type: 'overloaded_error', message: 'busy' } } : chatCompletion(),
      )(received, response);
    };
    const first = gateway.provider.requests.length;
    const response = await send(request({ model: 'messages-first' }), own);
    assert.equal(response.status, 200, response.text);
    assert.deepEqual(
      gateway.provider.requests.slice(first).map(({ path }) => path),
      ['/v1/messages', '/v1/chat/completions'],
    );
    assert.equal(response.json.content[0].text, 'Hello there');
    await assertSpent(own, COST);
    const record = await own.lastCall();
    assert.equal(record.route.provider, 'chatty');
  });

  test('returns to the native route with the body as the client wrote it, without the reasoning of others', async () => {
    gateway.provider.respond = json(200, {
      ...chatCompletion(),
      choices: [
        { index: 0, message: { role: 'assistant', content: 'hi', reasoning_content: 'hm' }, finish_reason: 'stop' },
      ],
    });
    const answer = await send(request());
    const [thinking] = answer.json.content;
    assert.equal(thinking.thinking, 'hm');
    gateway.provider.respond = json(200, message());
    const body = {
      ...request({ model: 'messages-first' }),
      messages: [
        { role: 'user', content: 'Say hello.' },
        { role: 'assistant', content: [thinking, { type: 'text', text: 'hi' }] },
        { role: 'user', content: 'Again.' },
      ],
    };
    // The route that made the reasoning comes first, so it is refused there.
    gateway.provider.respond = (received, response) =>
      json(
        received.path === '/v1/messages' ? 200 : 503,
        received.path === '/v1/messages' ? message() : { error: { message: 'busy' } },
      )(received, response);
    const response = await send(body);
    assert.equal(response.status, 200, response.text);
    assert.equal(gateway.provider.requests.at(-1)!.path, '/v1/messages');
    assert.deepEqual(sent().messages[1].content, [{ type: 'text', text: 'hi' }]);
  });

  test('is sent on a native route if the route of its reasoning cannot express it', async () => {
    const own = await gateway.createAccount();
    const reasoned = { role: 'assistant', content: 'hi', reasoning_content: 'hm' };
    gateway.provider.respond = json(200, {
      ...chatCompletion(),
      choices: [{ index: 0, message: reasoned, finish_reason: 'stop' }],
    });
    const [thinking, text] = (await send(request(), own)).json.content;
    gateway.provider.respond = json(200, message());
    const file = { type: 'document', source: { type: 'url', url: 'https://a.example/b.pdf' } };
    const messages = [
      { role: 'user', content: 'Say hello.' },
      { role: 'assistant', content: [thinking, text] },
      { role: 'user', content: [file] },
    ];
    const response = await send(request({ model: 'messages-first', messages }), own);
    assert.equal(response.status, 200, response.text);
    assert.equal(response.headers['x-faregate-translated'], undefined);
    assert.equal(gateway.provider.requests.at(-1)!.path, '/v1/messages');
    assert.deepEqual(sent().messages[2].content, [file]);
    const record = await own.endedCall(2);
    assert.equal(record.route.provider, 'messy');
    await assertSpent(own, COST + costNano({ input: 12, output: 8 }));
  });

  test('restores its reasoning in the next call', async () => {
    gateway.provider.respond = json(200, chatCompletion());
    const carried = { type: 'thinking', thinking: 'hm', signature: 'fg1.AAAAAAAAAAA.' };
    await send(
      request({
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: [carried, { type: 'text', text: 'b' }] },
          { role: 'user', content: 'c' },
        ],
      }),
    );
    assert.equal(sent().messages[1].reasoning_content, 'hm');
  });

  test('gives the status and the words of the provider in the envelope of the client', async () => {
    gateway.provider.respond = json(400, {
      error: {
        message: "This model's maximum context length is 8192 tokens.",
        type: 'x',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    });
    const messages = await send(request());
    assert.equal(messages.status, 400);
    assert.equal(messages.json.type, 'error');
    assert.equal(messages.json.error.type, 'invalid_request_error');
    assert.match(messages.json.error.message, /^prompt is too long: This model's maximum context/);
    const responses = await call(`${gateway.url}/v1/responses`, account.key, { model: 'chat-only', input: 'a' });
    assert.equal(responses.json.error.code, 'context_length_exceeded');
    assert.equal(responses.json.error.param, null);
  });

  test('does not take a rate limit on tokens for a context that is too long', async () => {
    gateway.provider.respond = json(429, { error: { message: 'Too many tokens per minute.', code: 'rate_limit' } });
    const response = await send(request());
    assert.equal(response.status, 429);
    assert.doesNotMatch(response.json.error.message, /prompt is too long/);
  });

  for (const [name, events] of Object.entries({
    'an error event': [
      ...chatStream(['Hel']).slice(0, 2),
      'data: {"error":{"message":"The engine is overloaded"}}\n\n',
    ],
    'a stream that breaks off': chatStream(['Hel']).slice(0, 2),
  })) {
    test(`ends with the error event of the client's protocol after ${name}`, async () => {
      gateway.provider.respond = sse(events);
      const response = await send(request({ stream: true }));
      await response.ended();
      assert.equal(response.status, 200);
      assert.match(response.text, /"text":"Hel"/);
      assert.match(response.text, /event: error\ndata: \{"type":"error"/);
      assert.doesNotMatch(response.text, /message_stop/);
      if (name === 'an error event') assert.match(response.text, /The engine is overloaded/);
    });
  }

  test('ends with an error event if the end of a stream cannot be translated, and serves the next call', async () => {
    const own = await gateway.createAccount();
    const delta = (members: object, finish_reason: string | null = null): string =>
      `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: members, finish_reason }] })}\n\n`;
    const nameless = delta({ tool_calls: [{ index: 0, id: 't', function: { arguments: '{}' } }] });
    const usage = `data: ${JSON.stringify({ id: 'c', choices: [], usage: chatCompletion().usage })}\n\n`;
    gateway.provider.respond = sse([delta({ content: 'Hel' }), nameless, delta({}, 'tool_calls'), usage, DONE]);
    const response = await send(request({ stream: true }), own);
    await response.ended();
    assert.match(response.text, /"text":"Hel"[\s\S]*event: error\n/);
    assert.doesNotMatch(response.text, /message_stop/);
    await assertSpent(own, COST);
    gateway.provider.respond = json(200, chatCompletion());
    assert.equal((await send(request(), own)).status, 200);
  });

  test('fails with the words of the provider if the stream has nothing but an error', async () => {
    const own = await gateway.createAccount();
    gateway.provider.respond = sse(['data: {"error":{"message":"The engine is overloaded"}}\n\n']);
    const response = await send(request({ stream: true }), own);
    assert.equal(response.status, 502);
    assert.match(response.json.error.message, /The engine is overloaded/);
    await assertSpent(own, 0n);
  });

  test('fails with a status of its own if the stream has nothing', async () => {
    const own = await gateway.createAccount();
    gateway.provider.respond = sse([]);
    const response = await send(request({ stream: true }), own);
    assert.equal(response.status, 502);
    await assertSpent(own, 0n);
  });

  test('is free if a whole response cannot be translated', async () => {
    const own = await gateway.createAccount();
    gateway.provider.respond = json(200, {
      ...chatCompletion(),
      choices: [{ index: 0, message: { content: null, audio: { id: 'a', data: 'AAAA' } }, finish_reason: 'stop' }],
    });
    const response = await send(request(), own);
    assert.equal(response.status, 502);
    assert.match(response.json.error.message, /cannot be translated/);
    await assertSpent(own, 0n);
  });

  test('charges a stream whose client leaves, on what was delivered', async () => {
    const own = await gateway.createAccount();
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const left = clientLeaves(gateway);
    const started = startCall(`${gateway.url}/v1/messages`, own.key, request({ stream: true }));
    await live.opened;
    await live.write(chatStream(['Hello there'])[0]!);
    await live.write(chatStream(['Hello there'])[1]!);
    const response = await started.response;
    await response.until('Hello');
    started.drop();
    await left;
    await live.closed;
    const record = await own.endedCall();
    assert.equal(record.status, 'aborted');
    assert.equal(record.usage.source, 'estimated');
  });

  test('repeats the translated response for the same Idempotency-Key', async () => {
    const own = await gateway.createAccount();
    gateway.provider.respond = json(200, chatCompletion());
    const headers = { 'idempotency-key': 'once' };
    const first = await send(request(), own, headers);
    const second = await send(request(), own, headers);
    assert.equal(second.headers['x-faregate-repeated'], 'true');
    assert.deepEqual(second.json, first.json);
    await assertSpent(own, COST);
  });

  test('is translated in another thread if the body is large', async () => {
    gateway.provider.respond = json(200, chatCompletion());
    const text = 'ü'.repeat(100_000);
    const response = await send(request({ messages: [{ role: 'user', content: text }] }));
    assert.equal(response.status, 200);
    assert.equal(sent().messages[0].content, text);
  });
});
