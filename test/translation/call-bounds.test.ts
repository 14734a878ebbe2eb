import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { totalTokens } from '../../src/protocols/token-estimate/budgets.ts';
import { countBody } from '../../src/protocols/token-estimate/count-body.ts';
import { Tokenizer } from '../../src/protocols/token-estimate/tokenizer.ts';
import { call, isCut, startCall } from '../support/client.ts';
import {
  ADMIN_TOKEN,
  assertSpent,
  clientLeaves,
  costNano,
  PRICE,
  startGateway,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import {
  chatCompletion,
  chatStream,
  event,
  json,
  liveResponse,
  message,
  messagesStream,
  type Respond,
  type ScriptedProvider,
  sse,
  startProvider,
} from '../support/provider.ts';
import { until } from '../support/until.ts';

/** What bounds a translated call: memory, reservation, the size of answers, and the end of its stream. */

const MIB = 2 ** 20;
const SERVER = 'bodyLimit: 1MiB, bodyMemory: 4MiB';
const MODELS = `  chat-only:
    operations: [chat, messages, responses]
    maxOutputTokens: "64000"
    price: ${PRICE}
    routes: [{ provider: chatty, model: upstream-chat, translate: [messages, responses] }]
  messages-only:
    operations: [chat, responses]
    maxOutputTokens: "100"
    price: ${PRICE}
    routes: [{ provider: messy, model: upstream-messages, translate: [chat, responses], dialect: { promptCache: auto } }]
  hasty:
    operations: [chat]
    maxOutputTokens: "100"
    price: ${PRICE}
    routes: [{ provider: hasty, model: upstream-messages, translate: [chat] }]
  chat-first:
    operations: [chat]
    maxOutputTokens: "100"
    price: ${PRICE}
    routes:
      - { provider: chatty, model: upstream-chat }
      - { provider: messy, model: upstream-messages, translate: [chat], dialect: { promptCache: auto } }
  twice:
    operations: [messages]
    maxOutputTokens: "64000"
    price: ${PRICE}
    routes:
      - { provider: chatty, model: first, translate: [messages] }
      - { provider: chatty, model: second, translate: [messages], priority: 1 }
    retry: { on: [500], within: 2 }
  tuned:
    operations: [chat]
    maxOutputTokens: "64000"
    price: ${PRICE}
    routes:
      - { provider: chatty, model: first, parameters: { set: { user: first } } }
      - { provider: chatty, model: second, priority: 1, parameters: { set: { user: second } } }
    retry: { on: [500], within: 2 }
`;

const MESSAGES = '/v1/messages';
const RESPONSES = '/v1/responses';
const CHAT = '/v1/chat/completions';
const BUSY = { error: { message: 'busy' } };

const turn = (content: unknown = 'Say hello.') => [{ role: 'user', content }];
const ofMessages = (rest: object = {}) => ({ model: 'chat-only', max_tokens: 64, messages: turn(), ...rest });
const ofResponses = (rest: object = {}) => ({ model: 'chat-only', input: 'Say hello.', ...rest });

/** A chunk of a chat stream with this delta. */
const chunk = (delta: object): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
const callChunk = (index: number, rest: object): string => chunk({ tool_calls: [{ index, ...rest }] });

describe('a translated call', { timeout: 120_000 }, () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let hasty: ScriptedProvider;
  before(async () => {
    hasty = await startProvider();
    const providers = `  hasty: { protocol: messages, baseUrl: ${hasty.url}, apiKey: provider-secret-key-3, timeouts: { idle: 100ms } }`;
    gateway = await startGateway({ models: MODELS, server: SERVER, providers });
    account = await gateway.createAccount();
  });
  afterEach(() => {
    gateway.observed.statement('settlement.end').release();
  });
  after(async () => {
    await gateway.stop();
    await hasty.close();
  });

  const send = (path: string, body: object, { key }: TestAccount = account) => call(gateway.url + path, key, body);
  async function usedBytes(): Promise<number> {
    const response = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    return Number(/^faregate_body_memory_used_bytes (\d+)$/m.exec(await response.text())![1]);
  }
  const isEmpty = () => until(async () => (await usedBytes()) === 0, 'memory is not given back');

  /** A body that a translated call, or one with parameters, sends in place of the client's. */
  const written = {
    'its translated body': { path: MESSAGES, model: 'chat-only', again: 'twice', status: 529 },
    'its body with parameters': { path: CHAT, model: 'tuned', again: 'tuned', status: 503 },
  };
  for (const [what, { path, model, again, status }] of Object.entries(written)) {
    describe(`counts ${what} in the memory of bodies`, () => {
      const large = ofMessages({ model, messages: turn('x'.repeat(0.9 * MIB)) });
      const sizeBytes = Buffer.byteLength(JSON.stringify(large));
      /** The client's body, and one that was written. */
      async function assertBoth(): Promise<void> {
        const bytes = await usedBytes();
        assert.ok(bytes > 2 * sizeBytes - 4_096 && bytes < 2.5 * sizeBytes, String(bytes));
      }

      for (const [end, finish] of Object.entries({
        'a success': (live) => live.write(JSON.stringify(chatCompletion())).then(() => live.end()),
        'a break': async (live) => live.reset(),
      } satisfies Record<string, (live: ReturnType<typeof liveResponse>) => Promise<void>>)) {
        test(`until ${end}`, async () => {
          const live = liveResponse({ 'content-type': 'application/json' });
          gateway.provider.respond = live.respond;
          const running = send(path, large);
          await live.opened;
          await assertBoth();
          await finish(live);
          await running;
          await isEmpty();
        });
      }

      test('until the client has left', async () => {
        const live = liveResponse();
        gateway.provider.respond = live.respond;
        const left = clientLeaves(gateway);
        const started = startCall(gateway.url + path, account.key, { ...large, stream: true });
        await live.opened;
        await live.write(chatStream(['Hello']).slice(0, 2).join(''));
        await (await started.response).until('Hello');
        await assertBoth();
        started.drop();
        await left;
        await live.closed;
        await isEmpty();
      });

      test('that of the present route only, also if that route is tried again', async () => {
        const reached = [1, 2, 3].map(() => Promise.withResolvers<void>());
        const counted = [1, 2, 3].map(() => Promise.withResolvers<void>());
        const sent: string[] = [];
        gateway.provider.respond = async (received, response) => {
          sent.push(JSON.parse(received.body.toString()).model);
          const at = sent.length - 1;
          reached[at]!.resolve();
          await counted[at]!.promise;
          return (at < 2 ? json(500, BUSY) : json(200, chatCompletion()))(received, response);
        };
        const running = send(path, { ...large, model: again });
        try {
          for (const [at, { promise }] of reached.entries()) {
            await promise;
            await assertBoth();
            counted[at]!.resolve();
          }
        } finally {
          for (const { resolve } of counted) resolve();
        }
        assert.equal((await running).status, 200);
        assert.deepEqual(sent, ['first', 'second', 'first']);
        await isEmpty();
      });

      test('and is refused without a charge if there is no memory for it', async () => {
        const own = await gateway.createAccount();
        const live = liveResponse({ 'content-type': 'application/json' });
        gateway.provider.respond = live.respond;
        const running = send(path, large);
        await live.opened;
        const asked = gateway.provider.requests.length;
        const refused = await send(path, large, own);
        assert.equal(refused.status, status);
        assert.match(refused.json.error.type, /^(?:overloaded|api)_error$/);
        assert.equal(refused.headers['retry-after'], '2');
        assert.equal(gateway.provider.requests.length, asked);
        await assertSpent(own, 0n);
        await live.write(JSON.stringify(chatCompletion()));
        live.end();
        await running;
        await isEmpty();
      });
    });
  }

  describe('counts its translated body', () => {
    const large = ofMessages({ messages: turn('x'.repeat(0.9 * MIB)) });
    const sizeBytes = Buffer.byteLength(JSON.stringify(large));

    test('also if it is made when a native route has failed', async () => {
      const live = liveResponse({ 'content-type': 'application/json' });
      gateway.provider.respond = (received, response) =>
        received.path === CHAT ? json(503, BUSY)(received, response) : live.respond(received, response);
      const running = send(CHAT, { ...large, model: 'chat-first' });
      await live.opened;
      assert.ok((await usedBytes()) > 2 * sizeBytes - 4_096);
      await live.write(JSON.stringify(message()));
      live.end();
      assert.equal((await running).status, 200);
      await isEmpty();
    });

    test('not if the protocol cannot express the request', async () => {
      const content = [{ type: 'document', source: { type: 'file', file_id: 'f' } }];
      const response = await send(MESSAGES, { ...large, messages: [...large.messages, ...turn(content)] });
      assert.equal(response.status, 400);
      await isEmpty();
    });
  });

  test('holds what the translated request may cost, with an added cache write', async () => {
    for (const [model, isExact] of [
      ['messages-only', true],
      ['chat-first', false],
    ] as const) {
      const own = await gateway.createAccount();
      const live = liveResponse({ 'content-type': 'application/json' });
      gateway.provider.respond = live.respond;
      const messages = [...turn('x'.repeat(40_000)), { role: 'assistant', content: 'b' }, ...turn()];
      const running = send(CHAT, { model, max_tokens: 10, messages }, own);
      await live.opened;
      const { heldNano } = await own.money();
      const input = Math.ceil(40_000 / 4);
      // The price of a one-hour write is the highest one of a cache write.
      assert.ok(heldNano >= costNano({ written1h: input, output: 10 }), `${model}: ${heldNano}`);
      assert.ok(
        heldNano < costNano({ written1h: input * (isExact ? 1.05 : 1.5), output: 10 }),
        `${model}: ${heldNano}`,
      );
      await live.write(JSON.stringify(isExact ? message() : chatCompletion()));
      live.end();
      assert.equal((await running).status, 200);
    }
  });

  test('estimates tokens with the budgets of the protocol that will serve', async () => {
    const tokenizer = new Tokenizer();
    const tools = [{ name: 'read', description: 'Reads a file.', input_schema: { type: 'object' } }];
    const body = { system: 'Be brief.', tools, messages: turn() };
    const { textTokens, budgetTokens } = countBody('messages', Buffer.from(JSON.stringify(body)), tokenizer);
    assert.equal(budgetTokens, 6 + 2 + 810 + 60);
    for (const [model, budget] of [
      ['test-messages', budgetTokens],
      ['chat-only', 6 + 4 + 4 + 32 + 12],
    ] as const) {
      const counted = await send(`${MESSAGES}/count_tokens`, { ...body, model });
      assert.equal(counted.json.input_tokens, totalTokens({ textTokens, budgetTokens: budget }, 1), model);
    }
    const input = { instructions: 'Be brief.', input: 'Say hello.' };
    const counted = countBody('responses', Buffer.from(JSON.stringify(input)), tokenizer);
    const served = await send(`${RESPONSES}/input_tokens`, { ...input, model: 'messages-only' });
    const expected = totalTokens({ textTokens: counted.textTokens, budgetTokens: 6 + 2 }, 1);
    assert.equal(served.json.input_tokens, expected);
  });

  test('begins a stream with a low estimate of the text, without media', async () => {
    gateway.provider.respond = sse(chatStream(['Hello']));
    const data = 'A'.repeat(100_000);
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
    const text = 'word '.repeat(1_000);
    const response = await send(
      MESSAGES,
      ofMessages({ stream: true, messages: turn([image, { type: 'text', text }]) }),
    );
    const start = JSON.parse(/event: message_start\ndata: (.*)\n/.exec(response.text)![1]!);
    assert.equal(start.message.usage.input_tokens, 1_000);
    assert.match(response.text, /"usage":\{"input_tokens":11,/);
  });

  describe('whose whole answer is larger than 32 MiB', () => {
    test('fails with 502, and is free', async () => {
      const own = await gateway.createAccount();
      gateway.provider.respond = json(200, chatCompletion(undefined, 'x'.repeat(32 * MIB)));
      const response = await send(MESSAGES, ofMessages(), own);
      assert.equal(response.status, 502);
      assert.match(response.json.error.message, /larger than the 32 MiB that can be translated\. Nothing is charged/);
      await assertSpent(own, 0n);
      await isEmpty();
    });
  });

  test('gets an answer of several MiB, more than its share of the memory', async () => {
    const text = 'ü'.repeat(4 * MIB);
    gateway.provider.respond = json(200, chatCompletion(undefined, text));
    const response = await send(MESSAGES, ofMessages());
    assert.equal(response.status, 200, response.text.slice(0, 500));
    assert.equal(response.json.content[0].text, text);
    await isEmpty();
  });

  test('ends with an error, charged for what came, if its last event would repeat more than 32 MiB', async () => {
    const own = await gateway.createAccount();
    const piece = chunk({ content: 'x'.repeat(MIB - 4_096) });
    gateway.provider.respond = sse([...Array(34).fill(piece), ...chatStream([])]);
    const response = await send(RESPONSES, ofResponses({ stream: true }), own);
    const [error, failed] = response.text.slice(-2_000).split('\n').flatMap(dataOf).slice(-2);
    assert.equal(error.type, 'error');
    assert.match(error.message, /32 MiB that the last event can repeat\. The output received so far is charged/);
    assert.equal(failed.type, 'response.failed');
    assert.doesNotMatch(response.text.slice(-2_000), /response\.completed/);
    const record = await own.endedCall();
    assert.equal(record.status, 'aborted');
    assert.equal(record.usage.source, 'estimated');
    await isEmpty();
  });

  test('ends with an error if more than 1 MiB waits for the end of another tool call', async () => {
    const begin = (index: number, name: string) =>
      callChunk(index, { id: `call_${index}`, function: { name, arguments: '{"a":"' } });
    const more = callChunk(1, { function: { arguments: 'x'.repeat(100_000) } });
    gateway.provider.respond = sse([begin(0, 'read'), begin(1, 'write'), ...Array(11).fill(more), ...chatStream([])]);
    const tools = ['read', 'write'].map((name) => ({ name, input_schema: { type: 'object' } }));
    const response = await send(MESSAGES, ofMessages({ stream: true, tools }));
    assert.match(response.text, /event: error\ndata: .*too many parts of an answer wait for a tool call/);
    assert.doesNotMatch(response.text, /message_stop/);
  });

  describe('whose provider reports an error in its stream', () => {
    const tooLong = {
      error: { message: "This model's maximum context length is 8192 tokens.", type: 'BadRequestError', code: 400 },
    };
    const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;

    test('gets the words and codes that agents know, with a status of its own before anything was sent', async () => {
      for (const events of [[data(tooLong)], [data(tooLong), 'data: [DONE]\n\n']]) {
        const own = await gateway.createAccount();
        gateway.provider.respond = sse(events);
        const messages = await send(MESSAGES, ofMessages({ stream: true }), own);
        assert.equal(messages.status, 400, messages.text);
        assert.match(messages.json.error.message, /^prompt is too long: This model's maximum context/);
        const responses = await send(RESPONSES, ofResponses({ stream: true }), own);
        assert.equal(responses.status, 400);
        assert.equal(responses.json.error.code, 'context_length_exceeded');
        await assertSpent(own, 0n);
      }
    });

    test('gets them as an event after that, without secrets', async () => {
      const words = `${tooLong.error.message} Key provider-secret-key-1.`;
      const events = [...chatStream(['Hel']).slice(0, 2), data({ error: { ...tooLong.error, message: words } })];
      gateway.provider.respond = sse(events);
      const messages = await send(MESSAGES, ofMessages({ stream: true }));
      assert.match(messages.text, /event: error\ndata: .*"message":"prompt is too long: This model's maximum context/);
      assert.doesNotMatch(messages.text, /secret-key|message_stop/);
      const responses = await send(RESPONSES, ofResponses({ stream: true }));
      const [error, failed] = responses.text.split('\n').flatMap(dataOf).slice(-2);
      assert.equal(error.code, 'context_length_exceeded');
      assert.equal(failed.response.error.code, 'context_length_exceeded');
      assert.doesNotMatch(responses.text, /response\.completed/);
    });
  });

  for (const [how, model, code] of [
    ['stalls', 'hasty', 'upstream_timeout'],
    ['breaks', 'messages-only', 'upstream_error'],
  ] as const) {
    test(`ends with an error, charged for what came, if its provider ${how}`, async () => {
      const own = await gateway.createAccount();
      const broken = Promise.withResolvers<void>();
      hasty.respond = gateway.provider.respond = async (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(messagesStream(['Hello', ' there']).slice(0, 5).join(''));
        await broken.promise;
        response.socket!.resetAndDestroy();
      };
      const response = await startCall(gateway.url + CHAT, own.key, { model, stream: true, messages: turn() }).response;
      await response.until(' there');
      if (how === 'breaks') broken.resolve();
      await response.ended();
      broken.resolve();
      assert.ok(isCut(response), response.text);
      const { error } = JSON.parse(response.text.split('data: ').at(-1)!);
      assert.equal(error.code, code);
      assert.match(error.message, /The output received so far is charged/);
      assert.doesNotMatch(response.text, /"finish_reason":"|\[DONE\]/);
      assert.equal((await own.endedCall()).status, 'aborted');
    });
  }

  for (const { name, path, body, respond, words, terminal } of [
    {
      name: 'chat to messages',
      path: MESSAGES,
      body: ofMessages({ stream: true }),
      respond: sse(chatStream(['Hello'])),
      words: 'Hello',
      terminal: /message_delta|message_stop/,
    },
    {
      name: 'chat to responses',
      path: RESPONSES,
      body: ofResponses({ stream: true }),
      respond: sse(chatStream(['Hello'])),
      words: 'Hello',
      terminal: /response\.completed/,
    },
    {
      name: 'messages to chat',
      path: CHAT,
      body: { model: 'messages-only', stream: true, messages: turn() },
      respond: sse(messagesStream(['Hello'])),
      words: 'Hello',
      terminal: /"finish_reason":"stop"|\[DONE\]/,
    },
  ] satisfies { name: string; path: string; body: object; respond: Respond; words: string; terminal: RegExp }[]) {
    test(`${name}: the terminal event waits for the charge`, async () => {
      const ends = gateway.observed.statement('settlement.end');
      const { asked } = ends;
      ends.hold();
      gateway.provider.respond = respond;
      const response = await startCall(gateway.url + path, account.key, body).response;
      await ends.reached(asked + 1);
      await response.until(words);
      // Other requests take longer than events that were sent.
      for (let i = 0; i < 5; i++) await usedBytes();
      assert.doesNotMatch(response.text, terminal);
      ends.release();
      assert.equal(await response.ended(), true);
      assert.match(response.text, terminal);
    });
  }

  test('passes pings as comments', async () => {
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const started = startCall(gateway.url + CHAT, account.key, {
      model: 'messages-only',
      stream: true,
      messages: turn(),
    });
    await live.opened;
    const [start, ...rest] = messagesStream(['Hello']);
    await live.write(start!);
    const response = await started.response;
    await response.until('"role":"assistant"');
    await live.write(event('ping'));
    await response.until(': keep-alive\n\n');
    await live.write(rest.join(''));
    live.end();
    assert.equal(await response.ended(), true);
  });
});

// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
function dataOf(line: string): any[] {
  return line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : [];
}
