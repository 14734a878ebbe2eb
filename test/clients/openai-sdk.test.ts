import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { collect, failureOf } from '../support/client.ts';
import { estimatedInput } from '../support/families.ts';
import {
  assertSpent,
  costNano,
  startGateway,
  type TestAccount,
  type TestGateway,
  watchCalls,
} from '../support/gateway.ts';
import { chatCompletion, chatResponse, chatStream, chatUsage, json, liveResponse, sse } from '../support/provider.ts';

/** The official OpenAI SDK, unmodified, with a real gateway: what its users receive, and what they pay. */

const question = { model: 'test-chat', messages: [{ role: 'user' as const, content: 'Say hello.' }] };

/** Cached, written and reasoning tokens are part of the totals: 1000 = 300 + 600 + 100, and 50 includes the 30. */
const detailedUsage = {
  prompt_tokens: 1000,
  completion_tokens: 50,
  total_tokens: 1050,
  prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 100, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 30, accepted_prediction_tokens: 0 },
};
const detailedCost = costNano({ input: 300, cached: 600, written: 100, output: 50 });

const toolCall = {
  id: 'call_7',
  type: 'function',
  function: { name: 'weather', arguments: '{"city":"Z\\u00fcrich"}' },
};

function clientOf(gateway: TestGateway, account: Pick<TestAccount, 'key'>, maxRetries = 0): OpenAI {
  return new OpenAI({ apiKey: account.key, baseURL: `${gateway.url}/v1`, maxRetries });
}

function chunkOf(delta: object, finishReason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return `data: ${JSON.stringify({ id: 'chatcmpl-2', object: 'chat.completion.chunk', created: 1, model: 'upstream-chat', choices })}\n\n`;
}

describe(`openai SDK`, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway();
  });
  after(() => gateway.stop());

  test('a non-streaming response arrives unchanged and is charged by its usage', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = chatResponse();
    const completion = await clientOf(gateway, account).chat.completions.create(question);
    assert.deepEqual({ ...completion }, chatCompletion());
    await assertSpent(account, costNano({ input: 11, output: 7 }));
    const call = await account.lastCall();
    assert.equal(call.status, 'succeeded');
    assert.equal(call.usage.source, 'observed');
    assert.equal(call.requestId, completion._request_id);
  });

  test('a stream arrives chunk by chunk, without the usage that only the gateway requested, and is charged by it', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = chatResponse(detailedUsage);
    const stream = await clientOf(gateway, account).chat.completions.create({ ...question, stream: true });
    const chunks = await collect(stream);
    assert.equal(chunks.map((chunk) => chunk.choices[0]!.delta.content ?? '').join(''), 'Hello there');
    assert.deepEqual(
      chunks.filter((chunk) => chunk.usage),
      [],
    );
    await assertSpent(account, detailedCost);
  });

  test('a stream whose client asks for usage has it as the last chunk', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = chatResponse(detailedUsage);
    const stream = await clientOf(gateway, account).chat.completions.create({
      ...question,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await collect(stream);
    assert.deepEqual(chunks.at(-1)!.usage, detailedUsage);
    assert.deepEqual(chunks.at(-1)!.choices, []);
    await assertSpent(account, detailedCost);
  });

  test('the stream helper puts the final completion together', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = chatResponse();
    const stream = clientOf(gateway, account).chat.completions.stream({
      ...question,
      stream_options: { include_usage: true },
    });
    const parts: string[] = [];
    stream.on('content', (part) => parts.push(part));
    const final = await stream.finalChatCompletion();
    assert.deepEqual(parts, ['Hello', ' there']);
    assert.equal(final.choices[0]!.message.content, 'Hello there');
    assert.equal(final.choices[0]!.finish_reason, 'stop');
    assert.partialDeepStrictEqual(await stream.totalUsage(), chatUsage);
    await assertSpent(account, costNano({ input: 11, output: 7 }));
  });

  test('tool calls arrive in a non-streaming response', async () => {
    const account = await gateway.createAccount();
    const message = { role: 'assistant', content: null, tool_calls: [toolCall] };
    gateway.provider.respond = json(200, {
      ...chatCompletion(detailedUsage),
      choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
    });
    const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } }];
    const completion = await clientOf(gateway, account).chat.completions.create({ ...question, tools });
    assert.deepEqual(completion.choices[0]!.message.tool_calls, [toolCall]);
    assert.deepEqual(JSON.parse(gateway.provider.requests.at(-1)!.body.toString()).tools, tools);
    await assertSpent(account, detailedCost);
  });

  test('tool calls arrive in chunks of a stream', async () => {
    const account = await gateway.createAccount();
    const { id, type } = toolCall;
    gateway.provider.respond = sse([
      chunkOf({
        role: 'assistant',
        content: null,
        tool_calls: [{ index: 0, id, type, function: { name: 'weather', arguments: '' } }],
      }),
      chunkOf({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
      chunkOf({ tool_calls: [{ index: 0, function: { arguments: '"Z\\u00fcrich"}' } }] }),
      chunkOf({}, 'tool_calls'),
      ...chatStream([], detailedUsage).slice(-2),
    ]);
    const final = await clientOf(gateway, account)
      .chat.completions.stream({
        ...question,
        tools: [{ type: 'function', function: { name: 'weather', parameters: {} } }],
      })
      .finalChatCompletion();
    assert.partialDeepStrictEqual(final.choices[0]!.message.tool_calls, [toolCall]);
    await assertSpent(account, detailedCost);
  });

  for (const way of ['controller.abort()', 'break'] as const) {
    test(`a stream that is left by ${way} is cancelled at the provider; the observed part is charged, marked estimated`, async () => {
      const account = await gateway.createAccount();
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      // No stream of this model has ended, so hidden reasoning is unknown.
      const asked = clientOf(gateway, account).chat.completions.create({
        ...question,
        model: 'test-both',
        stream: true,
      });
      await live.opened;
      for (const piece of chatStream(['Hello', ' there']).slice(0, 3)) await live.write(piece);
      const stream = await asked;
      for await (const chunk of stream) {
        if (chunk.choices[0]?.delta.content !== ' there') continue;
        if (way === 'break') break;
        stream.controller.abort();
      }
      await live.closed;
      const call = await account.endedCall();
      assert.equal(call.status, 'aborted');
      assert.equal(call.errorCode, null);
      assert.equal(call.usage.source, 'estimated');
      // Input by the token estimator, output by its text at four bytes per token.
      const input = estimatedInput('chat', JSON.parse(gateway.provider.requests.at(-1)!.body.toString()));
      const output = Math.ceil('Hello there'.length / 4);
      await assertSpent(account, costNano({ input, output }));
    });
  }
});

describe('openai SDK: responses and errors', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway({
      providers: '  away: { protocol: chat, baseUrl: "http://127.0.0.1:1/v1", apiKey: provider-secret-key-3 }',
      models:
        '  test-away: { operations: [chat], price: { input: "1", output: "1" }, routes: [{ provider: away, model: x }] }',
    });
    account = await gateway.createAccount();
  });
  after(() => gateway.stop());

  test("the request id is the provider's, on the object, in the headers and in the call record", async () => {
    gateway.provider.respond = json(200, chatCompletion(), { 'x-request-id': 'req_of_provider_1' });
    const { data, response, request_id } = await clientOf(gateway, account)
      .chat.completions.create(question)
      .withResponse();
    assert.deepEqual({ ...data }, chatCompletion());
    assert.equal(request_id, 'req_of_provider_1');
    assert.equal(response.headers.get('x-request-id'), 'req_of_provider_1');
    assert.equal(response.headers.get('request-id'), 'req_of_provider_1');
    assert.equal((await account.lastCall()).requestId, 'req_of_provider_1');
  });

  test("if the provider gave none, the request id is the gateway's, for streams too", async () => {
    gateway.provider.respond = chatResponse();
    const { data, response, request_id } = await clientOf(gateway, account)
      .chat.completions.create({ ...question, stream: true })
      .withResponse();
    await collect(data);
    assert.match(request_id ?? '', /^req_[0-9a-z]{26}$/);
    assert.equal(response.headers.get('request-id'), request_id);
    assert.equal((await account.lastCall()).requestId, request_id);
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    assert.equal(response.headers.get('cache-control'), 'no-cache');
    assert.equal(response.headers.get('x-accel-buffering'), 'no');
  });

  test('an empty balance is an APIError with status 402 that the SDK does not replay', async () => {
    const poor = await gateway.createAccount({ balanceYuan: '0' });
    const calls = watchCalls(gateway);
    const asked = gateway.provider.requests.length;
    const error = await failureOf(
      OpenAI.APIError<402, Headers, object>,
      clientOf(gateway, poor, 2).chat.completions.create({ ...question, stream: true }),
    );
    assert.equal(error.status, 402);
    assert.equal(error.code, 'insufficient_balance');
    assert.equal(error.type, 'insufficient_quota');
    assert.equal(error.headers.get('x-should-retry'), 'false');
    assert.equal(calls.length, 1);
    assert.equal(gateway.provider.requests.length, asked);
  });

  test('a reached daily limit is a RateLimitError that the SDK does not replay, although it is a 429', async () => {
    const capped = await gateway.createAccount({ dailySpendCapYuan: '0' });
    const calls = watchCalls(gateway);
    const error = await failureOf(
      OpenAI.RateLimitError,
      clientOf(gateway, capped, 2).chat.completions.create(question),
    );
    assert.equal(error.code, 'balance_daily_limit_exceeded');
    assert.equal(error.type, 'insufficient_quota');
    assert.equal(error.headers.get('x-should-retry'), 'false');
    assert.match(error.message, /This quota is exhausted and will reset at .*, in /);
    assert.equal(calls.length, 1);
  });

  test("a provider's 400 keeps its message, code and param", async () => {
    const message =
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.";
    gateway.provider.respond = json(400, {
      error: { message, type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' },
    });
    const error = await failureOf(OpenAI.BadRequestError, clientOf(gateway, account).chat.completions.create(question));
    assert.equal(error.message, `400 ${message}`);
    assert.equal(error.code, 'context_length_exceeded');
    assert.equal(error.param, 'messages');
  });

  test('an error inside a stream is thrown by the iteration, after the chunks before it', async () => {
    gateway.provider.respond = sse([
      ...chatStream(['Hello']).slice(0, 2),
      'data: {"error":{"message":"Overloaded.","type":"server_error","code":"overloaded"}}\n\n',
    ]);
    const own = await gateway.createAccount();
    const stream = await clientOf(gateway, own).chat.completions.create({ ...question, stream: true });
    const parts: string[] = [];
    const error = await failureOf(
      OpenAI.APIError,
      (async () => {
        for await (const chunk of stream) parts.push(chunk.choices[0]!.delta.content ?? '');
      })(),
    );
    assert.deepEqual(parts, ['', 'Hello']);
    assert.equal(error.message, 'Overloaded.');
    assert.equal(error.code, 'overloaded');
    assert.equal((await own.endedCall()).usage.source, 'estimated');
  });

  test('a stream that the provider breaks off is also thrown by the helper', async () => {
    const own = await gateway.createAccount();
    const live = liveResponse();
    gateway.provider.respond = live.respond;
    const stream = clientOf(gateway, own, 2).chat.completions.stream(question);
    const error = failureOf(OpenAI.APIError, stream.finalChatCompletion());
    await live.opened;
    for (const piece of chatStream(['Hello']).slice(0, 2)) await live.write(piece);
    await stream.emitted('content');
    live.reset();
    assert.equal((await error).code, 'upstream_error');
  });

  test('a stream that is cut within an event is thrown as the gateway’s error', async () => {
    const next = chatStream(['Hello', ' there'])[2]!;
    for (const half of [
      'data',
      'data: ',
      next.slice(0, 30),
      next.slice(0, -3),
      'event: error\ndata: {"error":{"mess',
    ]) {
      const own = await gateway.createAccount();
      gateway.provider.respond = sse([...chatStream(['Hello']).slice(0, 2), half]);
      const stream = await clientOf(gateway, own, 2).chat.completions.create({ ...question, stream: true });
      const parts: string[] = [];
      const error = await failureOf(
        OpenAI.APIError,
        (async () => {
          for await (const chunk of stream) parts.push(chunk.choices[0]!.delta.content ?? '');
        })(),
      );
      assert.deepEqual(parts, ['', 'Hello'], half);
      assert.equal(error.code, 'upstream_error', half);
      assert.equal(error.message, 'The provider aborted the stream. The output received so far is charged.', half);
      const { outputTokens } = (await own.endedCall()).usage;
      assert.equal(outputTokens, Math.ceil('Hello'.length / 4), half);
    }
  });

  test("the SDK replays a provider's 429 and 500, which cost nothing, and pays once for the success", async () => {
    const own = await gateway.createAccount();
    const asked = gateway.provider.requests.length;
    const soon = { 'retry-after-ms': '1' };
    const responses = [
      json(429, { error: { message: 'slow down' } }, soon),
      json(500, { error: { message: 'oops' } }, soon),
      chatResponse(),
    ];
    gateway.provider.respond = (request, response) => responses.shift()!(request, response);
    const client = new OpenAI({ apiKey: own.key, baseURL: `${gateway.url}/v1` });
    const completion = await client.chat.completions.create(question);
    assert.equal(completion.choices[0]!.message.content, 'Hello there');
    assert.equal(gateway.provider.requests.length, asked + 3);
    await own.endedCall(3);
    await assertSpent(own, costNano({ input: 11, output: 7 }));
  });

  for (const status of [502, 504]) {
    test(`the SDK does not replay a provider's ${status}: the call may have run`, async () => {
      const asked = gateway.provider.requests.length;
      gateway.provider.respond = json(status, { error: { message: 'Bad gateway.' } });
      const error = await failureOf(
        OpenAI.InternalServerError,
        clientOf(gateway, account, 2).chat.completions.create(question),
      );
      assert.equal(error.status, status);
      assert.equal(error.headers.get('x-should-retry'), 'false');
      assert.equal(gateway.provider.requests.length, asked + 1);
    });
  }

  test('the SDK does not replay a call whose connection broke after it was sent', async () => {
    const asked = gateway.provider.requests.length;
    gateway.provider.respond = (_request, response) => void response.socket!.resetAndDestroy();
    const error = await failureOf(
      OpenAI.InternalServerError,
      clientOf(gateway, account, 2).chat.completions.create(question),
    );
    assert.equal(error.status, 502);
    assert.equal(error.code, 'upstream_error');
    assert.equal(gateway.provider.requests.length, asked + 1);
  });

  test('the SDK replays a call whose provider refused the connection: it surely did not run', async () => {
    const calls = watchCalls(gateway);
    const error = await failureOf(
      OpenAI.InternalServerError,
      clientOf(gateway, account, 1).chat.completions.create({ ...question, model: 'test-away' }),
    );
    assert.equal(error.status, 502);
    assert.equal(error.headers.get('x-should-retry'), 'true');
    assert.deepEqual(
      calls.map((call) => call.headers['x-stainless-retry-count']),
      ['0', '1'],
    );
  });
});
