import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { parseConfig } from '../../src/config/load.ts';
import { createSubscriber, plansText } from '../plans/coding.ts';
import { type ClientResponse, call, collect, type StartedCall, startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { imageEvent } from '../support/endpoints.ts';
import {
  assertSpent,
  clientLeaves,
  costNano,
  startGateway,
  type TestAccount,
  type TestGateway,
  testConfigText,
} from '../support/gateway.ts';
import {
  chatCompletion,
  chatStream,
  chatUsage,
  json,
  type LiveResponse,
  liveResponse,
  messagesStream,
  messagesUsage,
  type ScriptedProvider,
  startProvider,
} from '../support/provider.ts';
import { RESPONSES_COST, responsesStream } from '../support/responses.ts';

/** Comments that keep silent streams alive (`server.sseKeepAlive`), and where they must not be sent. */

const COMMENT = ': keep-alive\n\n';
const PRICE = '{ input: "3", cachedInput: "0.7", output: "13" }';

/** One of the four forms of streams. */
interface Form {
  readonly name: string;
  readonly path: string;
  readonly body: object;
  /** What the provider sends, the terminal event last. */
  readonly events: readonly string[];
  /** The part of it that the client gets. */
  readonly relayed: readonly string[];
  readonly cost: bigint;
}

const ask = [{ role: 'user' as const, content: 'Hello' }];
const chatEvents = chatStream(['Hello', ' there']);
const messagesEvents = messagesStream(['Hello', ' there']);
const responsesEvents = responsesStream();
const imageEvents = [
  imageEvent('image_generation', 'partial_image', { partial_image_index: 0 }),
  imageEvent('image_generation', 'completed', {}),
];

const forms: readonly Form[] = [
  {
    name: 'chat',
    path: '/v1/chat/completions',
    body: { model: 'alive', messages: ask, stream: true },
    events: chatEvents,
    relayed: chatStream(['Hello', ' there'], null),
    cost: costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens }),
  },
  {
    name: 'messages',
    path: '/v1/messages',
    body: { model: 'alive', max_tokens: 50, messages: ask, stream: true },
    events: messagesEvents,
    relayed: messagesEvents,
    cost: costNano({ input: messagesUsage.input_tokens, output: messagesUsage.output_tokens }),
  },
  {
    name: 'responses',
    path: '/v1/responses',
    body: { model: 'alive', input: 'Hello', stream: true },
    events: responsesEvents,
    relayed: responsesEvents,
    cost: RESPONSES_COST,
  },
  {
    name: 'images',
    path: '/v1/images/generations',
    body: { model: 'alive-images', prompt: 'A gate', stream: true, partial_images: 1 },
    events: imageEvents,
    relayed: imageEvents,
    cost: 37_000n,
  },
];
const [chat] = forms as readonly [Form, ...Form[]];

/** A stream of nothing but comments: receiving some shows that enough silence has passed. */
class Pulse {
  readonly #response: ClientResponse;
  readonly #live: LiveResponse;
  readonly #account: TestAccount;

  constructor(response: ClientResponse, live: LiveResponse, account: TestAccount) {
    this.#response = response;
    this.#live = live;
    this.#account = account;
  }

  /** Resolves once that many keep-alive intervals of silence have passed. */
  async beats(count: number): Promise<void> {
    await this.#response.until(COMMENT.repeat(commentsIn(this.#response.text) + count));
  }

  async stop(): Promise<void> {
    this.#live.reset();
    await this.#response.ended();
    await this.#account.endedCall();
  }
}

const commentsIn = (text: string): number => text.split(COMMENT).length - 1;
const withoutComments = (text: string): string => text.replaceAll(COMMENT, '');

describe('keep-alive comments', { timeout: 120_000 }, () => {
  const clock = createTestClock('2026-11-20T04:00:00Z');
  let gateway: TestGateway;
  let provider: ScriptedProvider;
  let other: ScriptedProvider;
  let account: TestAccount;
  let pulse: Pulse;

  function options(server = 'sseKeepAlive: 30ms') {
    const routed = (name: string) =>
      `[{ provider: ${name}-chat, model: alive }, { provider: ${name}-messages, model: alive }]`;
    const both = (name: string, url: string, fields = '') => `
  ${name}-chat: { protocol: chat, baseUrl: "${url}/v1", apiKey: ${name}-secret-key-1, ${fields} }
  ${name}-messages: { protocol: messages, baseUrl: "${url}", apiKey: ${name}-secret-key-2, ${fields} }`;
    const { url } = provider;
    return {
      server,
      clock,
      routing: '{ breaker: { failures: 1 } }',
      plans: plansText({ plan: { models: ['alive', 'stalling'] } }),
      providers: both('here', url) + both('impatient', url, 'timeouts: { idle: 200ms }') + both('other', other.url),
      models: `
  alive: { operations: [chat, messages, responses], price: ${PRICE}, routes: ${routed('here')} }
  stalling: { operations: [chat, messages, responses], price: ${PRICE}, routes: ${routed('impatient')} }
  pulse: { operations: [chat], price: ${PRICE}, routes: [{ provider: here-chat, model: pulse }] }
  pair:
    operations: [chat]
    price: ${PRICE}
    routes: [{ provider: here-chat, model: x }, { provider: other-chat, model: y, priority: 1 }]
  alive-images:
    operations: [images.generate]
    price: { perImage: { default: "0.000037" } }
    routes: [{ provider: here-chat, model: painter }]
  stalling-images:
    operations: [images.generate]
    price: { perImage: { default: "0.000037" } }
    routes: [{ provider: impatient-chat, model: painter }]`,
    };
  }

  before(async () => {
    provider = await startProvider();
    other = await startProvider();
    gateway = await startGateway(options());
    account = await gateway.createAccount();
    const { started, live } = await open({ ...chat, body: { ...chat.body, model: 'pulse' } });
    pulse = new Pulse(await started.response, live, account);
  });
  after(async () => {
    await pulse?.stop();
    await gateway?.stop();
    await provider?.close();
    await other?.close();
  });
  beforeEach(async () => {
    // The breakers that failures have opened let calls through again.
    clock.advance(60_000);
    account = await gateway.createAccount();
  });
  afterEach(() => gateway.observed.statement('settlement.end').release());

  /** Starts a stream that the test sends chunk by chunk. */
  async function open(
    { path, body }: Pick<Form, 'path' | 'body'>,
    {
      key = account.key,
      isPaused = false,
      headers,
    }: { key?: string; isPaused?: boolean; headers?: Record<string, string> } = {},
  ): Promise<{ started: StartedCall; live: LiveResponse }> {
    const live = headers === undefined ? liveResponse() : liveResponse(headers);
    provider.respond = live.respond;
    const started = startCall(gateway.url + path, key, body, { isPaused });
    await live.opened;
    return { started, live };
  }

  for (const form of forms) {
    describe(form.name, () => {
      test('are sent before the first event and between all others, each of which arrives intact; none follows the last', async () => {
        const ends = gateway.observed.statement('settlement.end');
        const { started, live } = await open(form);
        const response = await started.response;
        assert.equal(response.status, 200);
        assert.match(response.headers['content-type']!, /^text\/event-stream\b/);
        assert.ok(response.headers['x-faregate-call-id']);
        await response.until(COMMENT.repeat(2));
        for (const event of form.events.slice(0, -1)) {
          // An incomplete event is not yet being sent to the client.
          await live.write(event.slice(0, 20));
          await pulse.beats(2);
          await live.write(event.slice(20));
          if (form.relayed.includes(event)) await response.until(event + COMMENT);
        }
        const { asked } = ends;
        ends.hold();
        await live.write(form.events.at(-1)!);
        await ends.reached(asked + 1);
        await pulse.beats(1);
        const { text } = response;
        await pulse.beats(3);
        assert.equal(response.text, text);
        ends.release();
        live.end();
        assert.equal(await response.ended(), true);
        assert.equal(withoutComments(response.text), form.relayed.join(''));
        for (const event of form.relayed) assert.ok(response.text.includes(event), `${event} is cut`);
        assert.equal(response.text, text + form.relayed.at(-1));
        const { status, usage } = await account.endedCall();
        assert.deepEqual([status, usage.source], ['succeeded', 'observed']);
        await assertSpent(account, form.cost);
      });

      const failures: Record<string, { fail: (live: LiveResponse) => void; model?: string; code: string }> = {
        'breaks the connection': { fail: (live) => live.reset(), code: 'upstream_error' },
        'ends the stream': { fail: (live) => live.end(), code: 'upstream_error' },
        'sends nothing more': { fail: () => undefined, model: 'stalling', code: 'upstream_timeout' },
      };
      for (const [what, { fail, model, code }] of Object.entries(failures)) {
        test(`a provider that ${what} before its first event: an error event, and nothing is charged`, async () => {
          const ofModel = form.name === 'images' && model !== undefined ? 'stalling-images' : model;
          const body = ofModel === undefined ? form.body : { ...form.body, model: ofModel };
          const { started, live } = await open({ ...form, body });
          const response = await started.response;
          await response.until(COMMENT);
          fail(live);
          // The error is no part of the chat protocol, so the connection is cut after it there.
          assert.equal(await response.ended(), form.name !== 'chat');
          assert.equal(response.status, 200);
          assertError(response, form, code);
          const { status, httpStatus, errorCode, usage, chargeYuan, failedRoutes } = await account.endedCall();
          assert.deepEqual(
            { status, httpStatus, errorCode, usage, chargeYuan, failedRoutes },
            { status: 'aborted', httpStatus: 200, errorCode: code, usage: null, chargeYuan: null, failedRoutes: [] },
          );
          await assertSpent(account, 0n);
        });
      }

      test('a client that leaves a stream of nothing but comments is charged nothing', async () => {
        const left = clientLeaves(gateway);
        const { started, live } = await open(form);
        await (await started.response).until(COMMENT);
        started.drop();
        await left;
        live.reset();
        const { status, errorCode, usage } = await account.endedCall();
        assert.deepEqual({ status, errorCode, usage }, { status: 'aborted', errorCode: null, usage: null });
        await assertSpent(account, 0n);
      });
    });
  }

  /** Asserts that nothing but comments and the error event of the form arrived. */
  function assertError(response: ClientResponse, { name }: Form, code: string): void {
    const text = withoutComments(response.text);
    const [, data] =
      (name === 'chat'
        ? /^data: (.*)\n\n$/
        : /^event: error\ndata: (.*)\n\n(?:event: response\.failed\ndata: .*\n\n)?$/
      ).exec(text) ?? [];
    assert.ok(data !== undefined, `no error event: ${text}`);
    const { error } = JSON.parse(data);
    assert.equal(name === 'messages' ? error.details.error_code : error.code, code);
    assert.match(error.message, /nothing is charged/i);
  }

  test('a stream that fails before its first event releases its slot of the Coding Plan', async () => {
    const subscriber = await createSubscriber(gateway, 'plan');
    for (const path of ['/v1/coding/chat/completions', '/v1/coding/altproto/messages', '/v1/coding/responses']) {
      const form = forms.find(({ path: end }) => path.endsWith(end.slice('/v1'.length)))!;
      clock.advance(60_000);
      const { started, live } = await open({ path, body: form.body }, { key: subscriber.key });
      const response = await started.response;
      await response.until(COMMENT);
      assert.equal((await subscriber.used()).fiveHour, 1);
      live.reset();
      await response.ended();
      assertError(response, form, 'upstream_error');
      assert.deepEqual(await subscriber.used(), { fiveHour: 0, weekly: 0, inFlight: 0, tokens: 0 });
    }
  });

  test('an error event that comes after comments is the provider’s own, and nothing is charged', async () => {
    const { started, live } = await open(chat);
    const response = await started.response;
    await response.until(COMMENT);
    const event = 'data: {"error":{"message":"Overloaded.","code":"overloaded"}}\n\n';
    await live.write(event);
    live.end();
    assert.equal(await response.ended(), false);
    assert.equal(withoutComments(response.text), event);
    await account.endedCall();
    await assertSpent(account, 0n);
  });

  test('none is sent before the provider has responded: a failure keeps its status', async () => {
    for (const [respond, status] of [
      [json(429, { error: { message: 'Busy.' } }, { 'retry-after': '9' }), 429],
      [json(500, { error: { message: 'Oops.' } }), 500],
      [json(200, '<html>'), 502],
    ] as const) {
      clock.advance(60_000);
      provider.respond = async (request, response) => {
        await pulse.beats(3);
        await respond(request, response);
      };
      const response = await call(gateway.url + chat.path, account.key, chat.body);
      assert.equal(response.status, status);
      assert.ok(response.json.error.message);
    }
    await assertSpent(account, 0n);
  });

  test('none is sent in a response that is no stream', async () => {
    const body = JSON.stringify(chatCompletion());
    for (const [isStream, contentType] of [
      [false, 'application/json'],
      // A response is no stream merely because one was requested.
      [true, 'application/json'],
      [false, 'text/event-stream'],
    ] as const) {
      const sent = { ...chat.body, stream: isStream };
      clock.advance(60_000);
      const { started, live } = await open({ ...chat, body: sent }, { headers: { 'content-type': contentType } });
      await live.write(body.slice(0, 50));
      await pulse.beats(3);
      await live.write(body.slice(50));
      live.end();
      const response = await started.response;
      assert.equal(await response.ended(), true);
      assert.equal(commentsIn(response.text), 0);
      if (!isStream) assert.equal(response.text, body);
      else assert.equal(response.status, 502);
    }
    await account.endedCall(3);
    await assertSpent(account, 2n * chat.cost);
  });

  test('none is sent within an event that is forwarded in parts', async () => {
    const { started, live } = await open(chat);
    const large = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(2 ** 21)}"}}]}\n\n`;
    const half = 2 ** 20 + 2 ** 19;
    await live.write(large.slice(0, half));
    const response = await started.response;
    await response.until('x'.repeat(2 ** 20));
    const begun = response.text.length;
    await pulse.beats(4);
    assert.equal(commentsIn(response.text.slice(begun)), 0);
    await live.write(large.slice(half));
    await response.until(large + COMMENT);
    await live.write(chatEvents.slice(-3).join(''));
    live.end();
    assert.equal(await response.ended(), true);
    assert.equal(withoutComments(response.text), large + [chatEvents.at(-3), chatEvents.at(-1)].join(''));
    await account.endedCall();
    await assertSpent(account, chat.cost);
  });

  test('none is sent between an event that lacks its empty line and the error that follows', async () => {
    const ends = gateway.observed.statement('settlement.end');
    const { started, live } = await open(chat);
    const whole = chatEvents.slice(0, 2).join('');
    const cut = chatEvents[2]!.trimEnd();
    await live.write(whole + cut);
    const response = await started.response;
    await response.until(whole + COMMENT);
    const { asked } = ends;
    ends.hold();
    live.reset();
    await ends.reached(asked + 1);
    await pulse.beats(4);
    ends.release();
    assert.equal(await response.ended(), false);
    const [, rest] = response.text.split(cut);
    assert.match(rest!, /^\n\ndata: \{"error":.*\n\n$/);
    assert.equal(withoutComments(response.text), whole + cut + rest);
  });

  test('none is sent to a client that has not read what was sent before', async () => {
    const { started, live } = await open(chat, { isPaused: true });
    const event = `data: {"choices":[{"index":0,"delta":{"content":"${'y'.repeat(2 ** 19)}"}}]}\n\n`;
    const flowed = live.write(event.repeat(48));
    const response = await started.response;
    await pulse.beats(40);
    response.resume();
    await flowed;
    await live.write(chatEvents.slice(-3).join(''));
    live.end();
    assert.equal(await response.ended(), true);
    // The stream may have been silent for a while before the buffers were full, and after they were drained.
    assert.ok(commentsIn(response.text) < 30, `${commentsIn(response.text)} comments`);
    assert.equal(
      withoutComments(response.text).length,
      event.length * 48 + [chatEvents.at(-3), chatEvents.at(-1)].join('').length,
    );
    await account.endedCall();
    await assertSpent(account, chat.cost);
  });

  test('none is needed while a provider sends its own', async () => {
    const { started, live } = await open(chat);
    const response = await started.response;
    await response.until(COMMENT);
    await live.write(': of the provider\n\n');
    await response.until(`: of the provider\n\n${COMMENT}`);
    await live.write(chatEvents.join(''));
    live.end();
    assert.equal(await response.ended(), true);
    assert.equal(withoutComments(response.text), `: of the provider\n\n${chat.relayed.join('')}`);
  });

  test('no other route is tried once a provider has responded with the headers of a stream', async () => {
    const { started, live } = await open({ ...chat, body: { ...chat.body, model: 'pair' } });
    const response = await started.response;
    await response.until(COMMENT);
    live.reset();
    await response.ended();
    assertError(response, chat, 'upstream_error');
    assert.equal(other.requests.length, 0);
    const { route, failedRoutes } = await account.endedCall();
    assert.deepEqual([route.provider, failedRoutes], ['here-chat', []]);
  });

  test('a comment does not show that a route works: a probe goes on until the provider has sent something', async () => {
    const stateOf = async (): Promise<string> => {
      const { body } = await gateway.admin('GET', '/routes');
      return body.data.find(
        (one: { model: string; provider: string }) => one.model === 'alive' && one.provider === 'here-chat',
      ).state;
    };
    provider.respond = json(500, {});
    await call(gateway.url + chat.path, account.key, chat.body);
    assert.equal(await stateOf(), 'open');
    clock.advance(10_000);
    const first = await open(chat);
    await (await first.started.response).until(COMMENT.repeat(2));
    assert.equal(await stateOf(), 'probing');
    first.live.reset();
    await (await first.started.response).ended();
    assert.equal(await stateOf(), 'open');
    clock.advance(10_000);
    const second = await open(chat);
    const response = await second.started.response;
    await response.until(COMMENT);
    assert.equal(await stateOf(), 'probing');
    await second.live.write(chatEvents[0]!);
    await response.until(chatEvents[0]!);
    assert.equal(await stateOf(), 'closed');
    await second.live.write(chatEvents.slice(1).join(''));
    second.live.end();
    await response.ended();
  });

  test('the official SDKs read streams with comments like streams without', async () => {
    const texts: Promise<string>[] = [];
    const watched = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const response = await fetch(input, init);
      texts.push(response.clone().text());
      return response;
    };
    /** Sends events with silence before the first, in the middle of the second, and after it. */
    const slowly = (events: readonly string[]): void => {
      provider.respond = async (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
        await pulse.beats(3);
        response.write(events[0]! + events[1]!.slice(0, 9));
        await pulse.beats(3);
        response.write(events[1]!.slice(9));
        await pulse.beats(3);
        response.end(events.slice(2).join(''));
      };
    };
    const dataOf = (events: readonly string[]): unknown[] =>
      events.flatMap((event) => {
        const data = /^data: (.*)$/m.exec(event)![1]!;
        return data === '[DONE]' ? [] : [JSON.parse(data)];
      });
    const settings = { apiKey: account.key, maxRetries: 0, fetch: watched };
    const openai = new OpenAI({ ...settings, baseURL: `${gateway.url}/v1` });
    const anthropic = new Anthropic({ ...settings, baseURL: gateway.url });

    slowly(chatEvents);
    const chunks = await openai.chat.completions.create({ model: 'alive', messages: ask, stream: true });
    assert.deepEqual(await collect(chunks), dataOf(chat.relayed));
    slowly(responsesEvents);
    const items = await openai.responses.create({ model: 'alive', input: 'Hello', stream: true });
    assert.deepEqual(await collect(items), dataOf(responsesEvents));
    slowly(imageEvents);
    const images = await openai.images.generate({ model: 'alive-images', prompt: 'A gate', stream: true });
    assert.deepEqual(await collect(images), dataOf(imageEvents));
    slowly(messagesEvents);
    const events = await anthropic.messages.create({ model: 'alive', max_tokens: 50, messages: ask, stream: true });
    const pings = (event: unknown): boolean => (event as { type: string }).type !== 'ping';
    assert.deepEqual((await collect(events)).filter(pings), dataOf(messagesEvents).filter(pings));
    for (const text of await Promise.all(texts)) assert.ok(commentsIn(text) >= 3, text);
    await account.endedCall(4);
    await assertSpent(
      account,
      forms.reduce((sum, { cost }) => sum + cost, 0n),
    );
  });

  test('without the setting a stream is as silent as its provider, and the setting applies to calls that begin under it', async () => {
    gateway.gateway.reload(parseConfig(testConfigText(gateway.provider.url, options('')), 'test.yaml', {}));
    try {
      const { started, live } = await open(chat);
      await pulse.beats(4);
      await live.write(chatEvents[0]!);
      const response = await started.response;
      await response.until(chatEvents[0]!);
      await pulse.beats(4);
      await live.write(chatEvents.slice(1).join(''));
      live.end();
      assert.equal(await response.ended(), true);
      assert.equal(response.text, chat.relayed.join(''));
    } finally {
      gateway.gateway.reload(parseConfig(testConfigText(gateway.provider.url, options()), 'test.yaml', {}));
    }
  });
});
