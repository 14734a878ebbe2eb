import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { assertSpent, costNano, PRICE, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import {
  chatCompletion,
  chatResponse,
  json,
  liveResponse,
  messagesResponse,
  type Respond,
  type ScriptedProvider,
  sse,
  startProvider,
} from '../support/provider.ts';
import { responsesStream } from '../support/responses.ts';

/** Parameters of routes and providers: what providers get of a request, what is held for it, and what the client is told. */

const MODELS = `  tuned:
    maxOutputTokens: "1000"
    operations: [chat, messages]
    price: ${PRICE}
    routes:
      - provider: tuned
        model: upstream-chat
        translate: [messages]
        parameters: { remove: [logit_bias, top_p], default: { temperature: 0.70 }, max: { max_tokens: 50 } }
  spare:
    operations: [chat]
    price: ${PRICE}
    routes:
      - { provider: tuned, model: first, priority: 0, parameters: { set: { user: first, verbosity: low } } }
      - { provider: chatty, model: second, priority: 1 }
  named:
    aliases: [named-latest]
    operations: [chat, messages, responses, embeddings]
    price: ${PRICE}
    showModel: asked
    routes:
      - { provider: chatty, model: upstream-chat }
      - { provider: messy, model: upstream-messages }
  plain:
    operations: [chat, messages, responses, embeddings]
    price: ${PRICE}
    routes: [{ provider: chatty, model: upstream-chat }, { provider: messy, model: upstream-messages }]
  unnamed:
    operations: [chat]
    price: ${PRICE}
    showModel: asked
    routes: [{ provider: chatty, model: upstream-chat, showModel: provider }]
  strict:
    operations: [chat]
    price: ${PRICE}
    routes: [{ provider: chatty, model: strict, parameters: { remove: [service_tier] } }]
`;

describe('parameters of a route', () => {
  let vendor: ScriptedProvider;
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    vendor = await startProvider();
    gateway = await startGateway({
      models: MODELS,
      providers: `  tuned:
    protocol: chat
    baseUrl: ${vendor.url}/v1
    apiKey: provider-secret-key-3
    forwardHeaders: [X-OpenCode-Session, user-agent]
    headers: { X-Title: ours }
    parameters: { set: { user: operator, chat_template_kwargs.enable_thinking: false } }`,
    });
    account = await gateway.createAccount();
  });
  after(async () => {
    await gateway.stop();
    await vendor.close();
  });
  const chat = (body: object | string, { key }: TestAccount = account) =>
    call(`${gateway.url}/v1/chat/completions`, key, body);
  const sentTo = (provider: ScriptedProvider): string => provider.requests.at(-1)!.body.toString();
  const toldIn = ({ headers }: Pick<ClientResponse, 'headers'>) =>
    ['left-out', 'added', 'changed'].map((name) => headers[`x-faregate-${name}`]);

  test('change these members only, and the client is told which', async () => {
    const body =
      '{"model":"tuned", "messages":[{"role":"user","content":"a\\u00e9"}],"top_p":1,"max_tokens":1e2 ,"seed":1.50,"User":"x"}';
    const response = await chat(body);
    assert.equal(response.status, 200, response.text);
    assert.equal(
      sentTo(vendor),
      '{"model":"upstream-chat", "messages":[{"role":"user","content":"a\\u00e9"}],"max_tokens":50 ,"seed":1.50,"User":"operator","chat_template_kwargs":{"enable_thinking":false},"temperature":0.70}',
    );
    assert.deepEqual(toldIn(response), ['top_p', 'chat_template_kwargs,temperature', 'max_tokens,user']);
    const plain = await chat({ model: 'test-chat', messages: [] });
    assert.deepEqual(toldIn(plain), [undefined, undefined, undefined]);
    assert.equal(sentTo(gateway.provider), '{"model":"upstream-chat","messages":[]}');
  });

  test('apply to streams with their usage, and to bodies that are read in other threads', async () => {
    const own = await gateway.createAccount();
    const content = 'word '.repeat(40_000);
    const body = { model: 'tuned', messages: [{ role: 'user', content }], stream: true, temperature: 0 };
    const response = await chat(body, own);
    assert.match(response.text, /\[DONE\]/);
    assert.doesNotMatch(response.text, /"usage":\{/);
    const { temperature, stream_options, messages, user } = JSON.parse(sentTo(vendor));
    assert.deepEqual([temperature, stream_options, user], [0, { include_usage: true }, 'operator']);
    assert.equal(messages[0].content, content);
    await assertSpent(own, costNano({ input: 11, output: 7 }));
  });

  test('are read by the hold: a limit that is lowered reserves less', async () => {
    const own = await gateway.createAccount();
    const live = liveResponse({ 'content-type': 'application/json' });
    vendor.respond = live.respond;
    const started = startCall(`${gateway.url}/v1/chat/completions`, own.key, {
      model: 'tuned',
      messages: [],
      max_tokens: 900,
    });
    await live.opened;
    const { heldNano } = await own.money();
    assert.ok(heldNano > costNano({ output: 50 }) && heldNano < costNano({ output: 100 }), String(heldNano));
    await live.write(JSON.stringify(chatCompletion()));
    live.end();
    assert.equal(await (await started.response).ended(), true);
    vendor.respond = chatResponse();
    await assertSpent(own, costNano({ input: 11, output: 7 }));
  });

  test('of a translated route are those of its provider, and what they remove is left out as by its dialect', async () => {
    const response = await call(`${gateway.url}/v1/messages`, account.key, {
      model: 'tuned',
      max_tokens: 900,
      top_p: 0.5,
      messages: [{ role: 'user', content: 'hi' }],
    });
    assert.equal(response.status, 200, response.text);
    const { messages, ...sent } = JSON.parse(sentTo(vendor));
    assert.deepEqual(sent, {
      model: 'upstream-chat',
      max_tokens: 50,
      user: 'operator',
      chat_template_kwargs: { enable_thinking: false },
      temperature: 0.7,
    });
    assert.equal(response.headers['x-faregate-translated'], 'chat');
    assert.deepEqual(toldIn(response), ['top_p', 'user,chat_template_kwargs,temperature', 'max_tokens']);
  });

  test('are those of the route that serves: after a failover, the next one gets what the client wrote', async () => {
    vendor.respond = json(503, { error: { message: 'busy' } });
    const response = await chat({ model: 'spare', messages: [] });
    vendor.respond = chatResponse();
    assert.equal(response.status, 200, response.text);
    assert.deepEqual(JSON.parse(sentTo(vendor)), {
      model: 'first',
      messages: [],
      user: 'first',
      chat_template_kwargs: { enable_thinking: false },
      verbosity: 'low',
    });
    assert.equal(sentTo(gateway.provider), '{"model":"second","messages":[]}');
    assert.deepEqual(toldIn(response), [undefined, undefined, undefined]);
  });

  test('and forwarded headers: the provider gets those that its configuration lists, in translated calls, too', async () => {
    const headers = { 'X-OpenCode-Session': 's-1', 'user-agent': 'client/1', 'x-title': 'theirs', cookie: 'a=b' };
    for (const path of ['/v1/chat/completions', '/v1/messages']) {
      const body = { model: 'tuned', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
      const response = await call(`${gateway.url}${path}`, account.key, body, { headers });
      assert.equal(response.status, 200, response.text);
      const received = vendor.requests.at(-1)!.headers;
      assert.equal(received['x-opencode-session'], 's-1');
      assert.equal(received['user-agent'], 'client/1');
      assert.equal(received['x-title'], 'ours');
      assert.equal(received.cookie, undefined);
    }
    await chat({ model: 'tuned', messages: [] });
    assert.equal(vendor.requests.at(-1)!.headers['user-agent'], 'faregate');
  });

  test('can remove what has no price', async () => {
    const body = { messages: [], service_tier: 'priority' };
    assert.equal((await chat({ model: 'test-chat', ...body })).status, 400);
    const response = await chat({ model: 'strict', ...body });
    assert.equal(response.status, 200, response.text);
    assert.equal(sentTo(gateway.provider), '{"model":"strict","messages":[]}');
  });

  test('leave the refusals of bodies as they are, and cost nothing then', async () => {
    const own = await gateway.createAccount();
    for (const body of ['[]', '"text"', '{"model":"tuned"', '{"model":"tuned","messages":[],"max_tokens":-1}']) {
      const response = await chat(body, own);
      assert.equal(response.status, 400, body);
      assert.equal(response.json.error.type, 'invalid_request_error');
    }
    await assertSpent(own, 0n);
  });

  describe('the name of the model that the client asked for', () => {
    /** The response with the asked name, and that of the same provider without. */
    const responses = async (path: string, body: object, respond: Respond, model = 'named-latest') => {
      gateway.provider.respond = respond;
      const own = await gateway.createAccount();
      const [shown, received] = [
        await call(`${gateway.url}${path}`, own.key, { ...body, model }),
        await call(`${gateway.url}${path}`, own.key, { ...body, model: 'plain' }),
      ];
      gateway.provider.respond = chatResponse();
      assert.deepEqual([shown.status, received.status], [200, 200], shown.text);
      assert.equal((await own.endedCall(2)).usage.source, 'observed');
      return { shown: shown.text, received: received.text };
    };

    for (const [path, body, respond, name] of [
      ['/v1/chat/completions', { messages: [] }, chatResponse(), 'upstream-chat'],
      ['/v1/messages', { messages: [], max_tokens: 9 }, messagesResponse(), 'upstream-messages'],
      ['/v1/responses', { input: 'hi' }, sse(responsesStream()), 'upstream-responses'],
    ] as const) {
      test(`is in all events of ${path}, whose other bytes stay as they are`, async () => {
        const { shown, received } = await responses(path, { ...body, stream: true }, respond);
        assert.ok(received.includes(`"model":"${name}"`));
        assert.equal(shown, received.replaceAll(`"model":"${name}"`, '"model":"named-latest"'));
      });
    }

    test('is in whole responses, also in one that is sent before it is complete', async () => {
      const whole = await responses('/v1/chat/completions', { messages: [] }, chatResponse(), 'named');
      assert.equal(whole.shown, whole.received.replace('"model":"upstream-chat"', '"model":"named"'));
      const embedding = 'A'.repeat(33 * 1024 * 1024);
      const list = { data: [{ index: 0, embedding }], model: 'embedder', usage: { prompt_tokens: 3, total_tokens: 3 } };
      const large = await responses('/v1/embeddings', { input: 'hi' }, json(200, list));
      assert.ok(large.shown === large.received.replace('"embedder"', '"named-latest"'));
    });

    test('is that of the provider at a route that says so', async () => {
      const { shown, received } = await responses('/v1/chat/completions', { messages: [] }, chatResponse(), 'unnamed');
      assert.equal(shown, received);
    });
  });
});
