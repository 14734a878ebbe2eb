import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { collect, failureOf } from '../support/client.ts';
import {
  assertSpent,
  costNano,
  PRICE,
  startGateway,
  type TestAccount,
  type TestGateway,
  watchCalls,
} from '../support/gateway.ts';
import { event, json, liveResponse, message, messagesResponse, messagesStream, sse } from '../support/provider.ts';

/** The official Anthropic SDK, unmodified, with a real gateway: what its users receive, and what they pay. */

const question = {
  model: 'test-messages',
  max_tokens: 64,
  messages: [{ role: 'user' as const, content: 'Say hello.' }],
};

/** Cache reads and writes are not part of the input. 200 of the writes are for an hour. The 10 thinking tokens are output. */
const detailedUsage = {
  input_tokens: 50,
  output_tokens: 40,
  cache_read_input_tokens: 600,
  cache_creation_input_tokens: 300,
  cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
  output_tokens_details: { thinking_tokens: 10 },
};
const detailedCost = costNano({ input: 50, cached: 600, written: 100, written1h: 200, output: 40 });

const weather = {
  name: 'weather',
  description: 'The weather in a city.',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
};
const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Zürich' } };

function clientOf(gateway: TestGateway, account: Pick<TestAccount, 'key'>, maxRetries = 0): Anthropic {
  return new Anthropic({ apiKey: account.key, baseURL: gateway.url, maxRetries });
}

describe(`anthropic SDK`, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({
      models: `  test-left:
    operations: [messages]
    maxOutputTokens: "100"
    price: ${PRICE}
    routes: [{ provider: messy, model: upstream-left }]
`,
    });
  });
  after(() => gateway.stop());

  test('a non-streaming response arrives unchanged and is charged by its usage', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = messagesResponse();
    const response = await clientOf(gateway, account).messages.create(question);
    assert.deepEqual({ ...response }, message());
    await assertSpent(account, costNano({ input: 12, output: 8 }));
    const call = await account.lastCall();
    assert.equal(call.status, 'succeeded');
    assert.equal(call.usage.source, 'observed');
    assert.equal(call.requestId, response._request_id);
  });

  test('a stream arrives event by event and is charged by its usage', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = messagesResponse(detailedUsage);
    const events = await collect(await clientOf(gateway, account).messages.create({ ...question, stream: true }));
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        'message_start',
        'content_block_start',
        'content_block_delta',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ],
    );
    await assertSpent(account, detailedCost);
  });

  test('the stream helper assembles the final message', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = messagesResponse(detailedUsage);
    const stream = clientOf(gateway, account).messages.stream(question);
    const parts: string[] = [];
    stream.on('text', (part) => parts.push(part));
    const final = await stream.finalMessage();
    assert.deepEqual(parts, ['Hello', ' there']);
    assert.equal(await stream.finalText(), 'Hello there');
    assert.equal(final.stop_reason, 'end_turn');
    assert.equal(final.usage.output_tokens, 40);
    assert.equal(stream.request_id, (await account.lastCall()).requestId);
    await assertSpent(account, detailedCost);
  });

  test('tool calls arrive in a non-streaming response', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = json(200, { ...message(detailedUsage), content: [toolUse], stop_reason: 'tool_use' });
    const response = await clientOf(gateway, account).messages.create({ ...question, tools: [weather] });
    assert.deepEqual(response.content, [toolUse]);
    assert.deepEqual(JSON.parse(gateway.provider.requests.at(-1)!.body.toString()).tools, [weather]);
    await assertSpent(account, detailedCost);
  });

  test('tool calls arrive in chunks of a stream', async () => {
    const account = await gateway.createAccount();
    const events = messagesStream([], detailedUsage);
    const delta = (text: string): string =>
      event('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: text } });
    events[1] = event('content_block_start', { index: 0, content_block: { ...toolUse, input: {} } });
    events.splice(2, 0, delta(''), delta('{"city": "Z'), delta('\\u00fc'), delta('rich"}'));
    gateway.provider.respond = sse(events);
    const stream = clientOf(gateway, account).messages.stream({ ...question, tools: [weather] });
    assert.deepEqual((await stream.finalMessage()).content, [toolUse]);
    await assertSpent(account, detailedCost);
  });

  for (const way of ['controller.abort()', 'break', 'stream.abort()'] as const) {
    test(`a stream that is left by ${way} is cancelled at the provider; input and text so far are charged, marked estimated`, async () => {
      const account = await gateway.createAccount();
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const client = clientOf(gateway, account);
      const pieces = messagesStream(['Hello', ' there'], detailedUsage).slice(0, 5);
      // As long as the usage, because an estimate never exceeds the reservation. No stream of this model ends: a reported thinking would
      // make the time of later streams count as hidden thinking.
      const long = {
        ...question,
        model: 'test-left',
        messages: [{ role: 'user' as const, content: 'Hello '.repeat(700) }],
      };
      if (way === 'stream.abort()') {
        const stream = client.messages.stream(long);
        const left = failureOf(Anthropic.APIUserAbortError, stream.done());
        stream.on('text', (_part, whole) => {
          if (whole === 'Hello there') stream.abort();
        });
        await live.opened;
        for (const piece of pieces) await live.write(piece);
        await left;
      } else {
        const asked = client.messages.create({ ...long, stream: true });
        await live.opened;
        for (const piece of pieces) await live.write(piece);
        const stream = await asked;
        let text = '';
        for await (const piece of stream) {
          if (piece.type === 'content_block_delta' && piece.delta.type === 'text_delta') text += piece.delta.text;
          if (text !== 'Hello there') continue;
          if (way === 'break') break;
          stream.controller.abort();
        }
      }
      await live.closed;
      const call = await account.endedCall();
      assert.equal(call.status, 'aborted');
      assert.equal(call.errorCode, null);
      assert.equal(call.usage.source, 'estimated');
      // The input was reported in message_start. The text counts four bytes per token.
      const output = Math.ceil('Hello there'.length / 4);
      await assertSpent(account, costNano({ input: 50, cached: 600, written: 100, written1h: 200, output }));
    });
  }
});

describe('anthropic SDK: responses and errors', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({
      providers: '  away: { protocol: messages, baseUrl: "http://127.0.0.1:1", apiKey: provider-secret-key-3 }',
      models:
        '  test-away: { operations: [messages], price: { input: "1", output: "1" }, routes: [{ provider: away, model: x }] }',
    });
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  test("the request id is the provider's, on the object, in the headers and in the call record", async () => {
    gateway.provider.respond = json(200, message(), { 'request-id': 'req_of_provider_1' });
    const { data, response, request_id } = await clientOf(gateway, account).messages.create(question).withResponse();
    assert.deepEqual({ ...data }, message());
    assert.equal(request_id, 'req_of_provider_1');
    assert.equal(response.headers.get('request-id'), 'req_of_provider_1');
    assert.equal(response.headers.get('x-request-id'), 'req_of_provider_1');
    assert.equal((await account.lastCall()).requestId, 'req_of_provider_1');
  });

  test("if the provider gave none, the request id is the gateway's, for streams too", async () => {
    gateway.provider.respond = messagesResponse();
    const { data, request_id } = await clientOf(gateway, account)
      .messages.create({ ...question, stream: true })
      .withResponse();
    await collect(data);
    assert.match(request_id ?? '', /^req_[0-9a-z]{26}$/);
    assert.equal((await account.lastCall()).requestId, request_id);
  });

  test("the provider gets its own credential and the client's version and betas, and nothing else from the client", async () => {
    gateway.provider.respond = messagesResponse();
    const client = new Anthropic({
      apiKey: account.key,
      baseURL: gateway.url,
      defaultHeaders: { cookie: 'session=1', 'x-custom': 'yes' },
    });
    await client.beta.messages.create({ ...question, betas: ['one-2026-01-01', 'two-2026-02-02'] });
    const { headers, path } = gateway.provider.requests.at(-1)!;
    assert.equal(path, '/v1/messages');
    assert.deepEqual(Object.keys(headers).sort(), [
      'accept',
      'accept-encoding',
      'anthropic-beta',
      'anthropic-version',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
      'x-api-key',
    ]);
    assert.equal(headers['x-api-key'], 'provider-secret-key-2');
    assert.match(headers['anthropic-version'] as string, /^\d{4}-\d{2}-\d{2}$/);
    assert.equal(headers['anthropic-beta'], 'one-2026-01-01,two-2026-02-02');
    assert.equal(headers['user-agent'], 'faregate');
  });

  test('the key is also accepted as x-api-key', async () => {
    gateway.provider.respond = messagesResponse();
    const client = new Anthropic({
      apiKey: null,
      authToken: null,
      baseURL: gateway.url,
      defaultHeaders: { 'x-api-key': account.key, authorization: null },
    });
    assert.equal((await client.messages.create(question)).id, 'msg_1');
  });

  test('an empty balance is a PaymentRequiredError that the SDK does not replay', async () => {
    const poor = await gateway.createAccount({ balanceYuan: '0' });
    const calls = watchCalls(gateway);
    const asked = gateway.provider.requests.length;
    const error = await failureOf(
      Anthropic.PaymentRequiredError,
      clientOf(gateway, poor, 2).messages.create({ ...question, stream: true }),
    );
    assert.equal(error.type, 'billing_error');
    assert.equal(error.errorCode, 'insufficient_balance');
    assert.equal(calls.length, 1);
    assert.equal(gateway.provider.requests.length, asked);
  });

  test('a reached daily limit is a RateLimitError that the SDK neither replays nor sleeps through', async () => {
    const capped = await gateway.createAccount({ dailySpendCapYuan: '0' });
    const calls = watchCalls(gateway);
    const error = await failureOf(Anthropic.RateLimitError, clientOf(gateway, capped, 2).messages.create(question));
    assert.equal(error.type, 'billing_error');
    assert.equal(error.errorCode, 'balance_daily_limit_exceeded');
    assert.equal(error.headers.get('x-should-retry'), 'false');
    assert.match(error.message, /This quota is exhausted and will reset at .*, in /);
    assert.equal(calls.length, 1);
  });

  test("a provider's refusal keeps its message, its type and its rate limit headers", async () => {
    gateway.provider.respond = json(
      429,
      {
        type: 'error',
        error: { type: 'rate_limit_error', message: 'This request would exceed your rate limit.' },
        request_id: 'req_theirs',
      },
      { 'retry-after': '20', 'anthropic-ratelimit-requests-remaining': '0', 'request-id': 'req_theirs' },
    );
    const error = await failureOf(Anthropic.RateLimitError, clientOf(gateway, account).messages.create(question));
    assert.equal(error.type, 'rate_limit_error');
    assert.equal(error.apiMessage, 'This request would exceed your rate limit.');
    assert.equal(error.requestID, 'req_theirs');
    assert.equal((error.error as { request_id?: string }).request_id, 'req_theirs');
    assert.equal(error.headers.get('retry-after'), '20');
    assert.equal(error.headers.get('anthropic-ratelimit-requests-remaining'), '0');
  });

  test('an error inside a stream is thrown by the iteration, after the events before it', async () => {
    const own = await gateway.createAccount();
    gateway.provider.respond = sse([
      ...messagesStream(['Hello']).slice(0, 4),
      event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } }),
    ]);
    const stream = await clientOf(gateway, own).messages.create({ ...question, stream: true });
    const types: string[] = [];
    const iterate = async (): Promise<void> => {
      for await (const { type } of stream) types.push(type);
    };
    const error = await failureOf(Anthropic.APIError, iterate());
    assert.deepEqual(types, ['message_start', 'content_block_start', 'content_block_delta']);
    assert.equal(error.type, 'overloaded_error');
    const call = await own.endedCall();
    assert.equal(call.status, 'aborted');
    assert.equal(call.usage.source, 'estimated');
    await assertSpent(own, costNano({ input: 12, output: 2 }));
  });

  test('a stream that the provider breaks off is also thrown by the helper', async () => {
    const own = await gateway.createAccount();
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const stream = clientOf(gateway, own, 2).messages.stream(question);
    const error = failureOf(Anthropic.APIError, stream.finalMessage());
    await live.opened;
    for (const piece of messagesStream(['Hello']).slice(0, 4)) await live.write(piece);
    await stream.emitted('text');
    live.reset();
    assert.equal((await error).type, 'api_error');
    assert.equal((await error).errorCode, 'upstream_error');
  });

  test('a stream that is cut within an event is thrown as the gateway’s error', async () => {
    const next = messagesStream(['Hello', ' there'])[4]!;
    const error = event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } });
    for (const half of ['event: mess', next.slice(0, 40), next.slice(0, -3), 'event: error\n', error.slice(0, -3)]) {
      const own = await gateway.createAccount();
      gateway.provider.respond = sse([...messagesStream(['Hello']).slice(0, 4), half]);
      const stream = await clientOf(gateway, own, 2).messages.create({ ...question, stream: true });
      const types: string[] = [];
      const iterate = async (): Promise<void> => {
        for await (const { type } of stream) types.push(type);
      };
      const failure = await failureOf(Anthropic.APIError, iterate());
      assert.deepEqual(types, ['message_start', 'content_block_start', 'content_block_delta'], half);
      assert.equal(failure.type, 'api_error', half);
      assert.equal(failure.apiMessage, 'The provider aborted the stream. The output received so far is charged.', half);
      await own.endedCall();
      await assertSpent(own, costNano({ input: 12, output: 2 }));
    }
  });

  test("the SDK replays a provider's 429 and 529, which cost nothing, and pays once for the success", async () => {
    const own = await gateway.createAccount();
    const asked = gateway.provider.requests.length;
    const soon = { 'retry-after-ms': '1' };
    const responses = [json(429, { error: { message: 'slow down' } }, soon), json(529, {}, soon), messagesResponse()];
    gateway.provider.respond = (request, response) => responses.shift()!(request, response);
    const client = new Anthropic({ apiKey: own.key, baseURL: gateway.url });
    assert.equal((await client.messages.stream(question).finalMessage()).id, 'msg_1');
    assert.equal(gateway.provider.requests.length, asked + 3);
    await own.endedCall(3);
    await assertSpent(own, costNano({ input: 12, output: 8 }));
  });

  for (const status of [502, 504]) {
    test(`the SDK does not replay a provider's ${status}: the call may have run`, async () => {
      const asked = gateway.provider.requests.length;
      gateway.provider.respond = json(status, { type: 'error', error: { type: 'api_error', message: 'Bad gateway.' } });
      const error = await failureOf(
        Anthropic.InternalServerError,
        clientOf(gateway, account, 2).messages.create(question),
      );
      assert.equal(error.status, status);
      assert.equal(gateway.provider.requests.length, asked + 1);
    });
  }

  test('the SDK does not replay a call whose connection broke after it was sent', async () => {
    const asked = gateway.provider.requests.length;
    gateway.provider.respond = (_request, response) => void response.socket!.resetAndDestroy();
    const error = await failureOf(
      Anthropic.InternalServerError,
      clientOf(gateway, account, 2).messages.create(question),
    );
    assert.equal(error.status, 502);
    assert.equal(error.errorCode, 'upstream_error');
    assert.equal(gateway.provider.requests.length, asked + 1);
  });

  test('the SDK replays a call whose provider refused the connection: it surely did not run', async () => {
    const calls = watchCalls(gateway);
    const error = await failureOf(
      Anthropic.InternalServerError,
      clientOf(gateway, account, 1).messages.create({ ...question, model: 'test-away' }),
    );
    assert.equal(error.status, 502);
    assert.deepEqual(
      calls.map((call) => call.headers['x-stainless-retry-count']),
      ['0', '1'],
    );
  });
});
