import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { LLMock } from '@copilotkit/aimock';
import OpenAI, { toFile } from 'openai';
import { collect, failureOf } from '../support/client.ts';
import {
  embeddingList,
  IMAGE_TEXT,
  type ImageEvents,
  imageEvent,
  imagesResult,
  imageUsage,
  png,
} from '../support/endpoints.ts';
import { estimatedInput } from '../support/families.ts';
import {
  assertSpent,
  costNano,
  startGateway,
  type TestAccount,
  type TestGateway,
  watchCalls,
} from '../support/gateway.ts';
import {
  chatUsage,
  completionResponse,
  event,
  json,
  sse,
  textCompletion,
  textCompletionStream,
} from '../support/provider.ts';
import { compactionResult, responseObject, responsesStream, usageOf } from '../support/responses.ts';

/**
 * The official SDKs at every address except chat and messages: what their users receive, the errors they throw, and the charges. The
 * provider is scripted, or a third-party simulator if that has the address.
 */

function openai(gateway: TestGateway, account: Pick<TestAccount, 'key'>, maxRetries = 0): OpenAI {
  return new OpenAI({ apiKey: account.key, baseURL: `${gateway.url}/v1`, maxRetries });
}

function anthropic(gateway: TestGateway, account: Pick<TestAccount, 'key'>, base = '/altproto'): Anthropic {
  return new Anthropic({ apiKey: account.key, baseURL: gateway.url + base, maxRetries: 0 });
}

/** The last request that the provider received. */
// biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
function lastBody(gateway: TestGateway): any {
  return JSON.parse(gateway.provider.requests.at(-1)!.body.toString());
}

/** A response without the methods that the SDK adds. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

const usage = usageOf(1000, 50, { cached_tokens: 600, cache_write_tokens: 300 });
const usageCost = costNano({ input: 100, cached: 600, written: 300, output: 50 });
const imageFacts = imageUsage({ text: 7, image: 11 }, 13);
const imageCost = BigInt(7 * 3000 + 11 * 17_000 + 13 * 19_000);
const file = (name: string) => toFile(png(8, 8), name, { type: 'image/png' });
const cat = { model: 'test-images', prompt: 'A cat.' };

describe(`openai SDK`, { timeout: 60_000 }, () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway();
  });
  after(() => gateway?.stop());

  const client = async (): Promise<OpenAI> => {
    account = await gateway.createAccount();
    return openai(gateway, account);
  };

  describe('completions.create', () => {
    const fill = { model: 'test-completions', prompt: 'def add(a, b):', suffix: '# end', max_tokens: 32 };
    const cost = costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens });

    test('returns the provider’s completion between prompt and suffix', async () => {
      gateway.provider.respond = completionResponse();
      const sdk = await client();
      const completion = await sdk.completions.create(fill);
      assert.deepEqual(plain(completion), textCompletion());
      assert.deepEqual(lastBody(gateway), { ...fill, model: 'completer' });
      await assertSpent(account, cost);
    });

    test('streams the text, with usage only if it is asked for', async () => {
      gateway.provider.respond = completionResponse();
      const sdk = await client();
      const chunks = await collect(await sdk.completions.create({ ...fill, stream: true }));
      assert.equal(chunks.map(({ choices }) => choices[0]!.text).join(''), 'Hello there');
      const options = { include_usage: true };
      const withUsage = await collect(await sdk.completions.create({ ...fill, stream: true, stream_options: options }));
      assert.deepEqual(withUsage.at(-1)!.usage, chatUsage);
      await assertSpent(account, 2n * cost);
    });

    test('is charged by the text that arrived if a stream ends without usage, but not for a repeated prompt', async () => {
      const text = 'word '.repeat(400);
      gateway.provider.respond = sse(textCompletionStream([text], null));
      const sdk = await client();
      await collect(await sdk.completions.create({ ...fill, stream: true }));
      const plainCall = await account.lastCall();
      assert.equal(plainCall.usage.source, 'estimated');
      assert.ok(plainCall.usage.outputTokens > 0);
      await collect(await sdk.completions.create({ ...fill, stream: true, echo: true }));
      assert.equal((await account.lastCall()).usage.outputTokens, 0);
    });
  });

  test('responses.create returns the provider’s response, and its text', async () => {
    gateway.provider.respond = json(200, responseObject({ usage }));
    const response = await (await client()).responses.create({ model: 'test-responses', input: 'Hi' });
    assert.deepEqual(plain(response), { ...responseObject({ usage }), output_text: 'Hello there' });
    assert.equal(response._request_id, (await account.lastCall()).requestId);
    assert.equal(lastBody(gateway).model, 'upstream-responses');
    await assertSpent(account, usageCost);
  });

  test('responses.create streams every event, in order, to the last', async () => {
    gateway.provider.respond = sse(responsesStream({ words: ['Hello', ' there'], response: { usage } }));
    const stream = await (await client()).responses.create({ model: 'test-responses', input: 'Hi', stream: true });
    const events = await collect(stream);
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.delta',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ],
    );
    assert.deepEqual(
      events.map(({ sequence_number }) => sequence_number),
      events.map((_, index) => index),
    );
    const last = events.at(-1)!;
    assert.ok(last.type === 'response.completed');
    assert.deepEqual(plain(last.response), responseObject({ usage }));
    await assertSpent(account, usageCost);
  });

  test('the stream helper of responses assembles the final response', async () => {
    gateway.provider.respond = sse(responsesStream({ words: ['Hello', ' there'], response: { usage } }));
    const stream = (await client()).responses.stream({ model: 'test-responses', input: 'Hi' });
    const deltas: string[] = [];
    stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta));
    const final = await stream.finalResponse();
    assert.deepEqual(deltas, ['Hello', ' there']);
    assert.equal(final.output_text, 'Hello there');
    assert.deepEqual(final.usage, usage);
    await assertSpent(account, usageCost);
  });

  test('responses.compact returns the compaction, which a later call may continue without a model', async () => {
    gateway.provider.respond = json(200, compactionResult({ usage }));
    const sdk = await client();
    const first = await sdk.responses.compact({ model: 'test-responses', input: 'Hi', prompt_cache_key: 'key' });
    assert.deepEqual(plain(first), compactionResult({ usage }));
    const second = await sdk.responses.compact({ model: null, previous_response_id: first.id });
    assert.equal(second.object, 'response.compaction');
    assert.equal(lastBody(gateway).model, 'upstream-responses');
    await assertSpent(account, 2n * usageCost);
  });

  test('responses.inputTokens.count is an estimate by the gateway: no provider, no charge', async () => {
    const sdk = await client();
    const before = gateway.provider.requests.length;
    const { data, response: head } = await sdk.responses.inputTokens
      .count({ model: 'test-responses', input: 'Count these few words, please.' })
      .withResponse();
    assert.equal(data.object, 'response.input_tokens');
    assert.ok(Number.isInteger(data.input_tokens) && data.input_tokens > 0, String(data.input_tokens));
    assert.equal(head.headers.get('x-gateway-token-estimate'), 'o200k-heuristic-v2');
    const longer = await sdk.responses.inputTokens.count({ model: 'test-responses', input: 'word '.repeat(500) });
    assert.ok(longer.input_tokens > data.input_tokens + 400, String(longer.input_tokens));
    assert.equal(gateway.provider.requests.length, before);
    await assertSpent(account, 0n);
  });

  test('embeddings.create requests base64 by default and returns the decoded floats', async () => {
    const vector = [0.5, -0.25, 1];
    gateway.provider.respond = json(200, embeddingList({ prompt_tokens: 5, total_tokens: 5 }, vector, true));
    const response = await (await client()).embeddings.create({ model: 'test-embeddings', input: ['one', 'two'] });
    assert.equal(lastBody(gateway).encoding_format, 'base64');
    assert.deepEqual(response.data[0]!.embedding, vector);
    await assertSpent(account, costNano({ input: 5 }));
  });

  test('embeddings.create returns floats unchanged if floats were requested', async () => {
    gateway.provider.respond = json(200, embeddingList({ prompt_tokens: 5, total_tokens: 5 }));
    const response = await (await client()).embeddings.create({
      model: 'test-embeddings',
      input: 'one',
      encoding_format: 'float',
    });
    assert.equal(lastBody(gateway).encoding_format, 'float');
    assert.deepEqual(plain(response), embeddingList({ prompt_tokens: 5, total_tokens: 5 }));
    await assertSpent(account, costNano({ input: 5 }));
  });

  test('images.generate returns the images and is charged by usage', async () => {
    gateway.provider.respond = json(200, imagesResult(2, { usage: imageFacts, quality: 'high' }));
    const response = await (await client()).images.generate({ ...cat, n: 2 });
    assert.deepEqual(
      response.data!.map(({ b64_json }) => b64_json),
      [IMAGE_TEXT, IMAGE_TEXT],
    );
    assert.deepEqual(response.usage, imageFacts);
    await assertSpent(account, imageCost);
  });

  test('images.generate streams partial images and the completed one', async () => {
    gateway.provider.respond = sse(imageStream('image_generation'));
    const stream = await (await client()).images.generate({ ...cat, stream: true, partial_images: 2 });
    const events = await collect(stream);
    assert.deepEqual(
      events.map((each) => [each.type, 'partial_image_index' in each ? each.partial_image_index : null]),
      [
        ['image_generation.partial_image', 0],
        ['image_generation.partial_image', 1],
        ['image_generation.completed', null],
      ],
    );
    assert.ok(events.every(({ b64_json }) => b64_json === IMAGE_TEXT));
    await assertSpent(account, imageCost);
  });

  for (const count of [1, 3]) {
    test(`images.edit uploads ${count === 1 ? 'one file' : 'several files'} byte for byte`, async () => {
      gateway.provider.respond = json(200, imagesResult(1, { usage: imageFacts }));
      const sdk = await client();
      const files = await Promise.all(Array.from({ length: count }, (_, i) => file(`cat ${i}.png`)));
      const response = await sdk.images.edit({ ...cat, image: count === 1 ? files[0]! : files });
      assert.equal(response.data![0]!.b64_json, IMAGE_TEXT);
      const { body, headers } = gateway.provider.requests.at(-1)!;
      const upload = await new Response(new Uint8Array(body), {
        headers: { 'content-type': headers['content-type']! },
      }).formData();
      assert.equal(upload.get('model'), 'painter');
      assert.equal(upload.get('prompt'), 'A cat.');
      const images = upload.getAll(count === 1 ? 'image' : 'image[]') as File[];
      assert.deepEqual(
        images.map(({ name, type }) => [name, type]),
        files.map(({ name, type }) => [name, type]),
      );
      for (const image of images) assert.deepEqual(Buffer.from(await image.arrayBuffer()), png(8, 8));
      await assertSpent(account, imageCost);
    });
  }

  test('images.edit streams partial images and the completed one', async () => {
    gateway.provider.respond = sse(imageStream('image_edit'));
    const sdk = await client();
    const image = [await file('one.png'), await file('two.png')];
    const stream = await sdk.images.edit({ ...cat, image, stream: true, partial_images: 2 });
    assert.deepEqual(
      (await collect(stream)).map(({ type }) => type),
      ['image_edit.partial_image', 'image_edit.partial_image', 'image_edit.completed'],
    );
    await assertSpent(account, imageCost);
  });

  test('a responses stream that breaks off is thrown as an error, and its output so far is charged', async () => {
    const begun = responsesStream({ words: ['Hello', ' there'], response: { usage } }).slice(0, 6);
    gateway.provider.respond = (_request, reply) => {
      reply.writeHead(200, { 'content-type': 'text/event-stream' });
      reply.write(begun.join(''), () => reply.socket!.resetAndDestroy());
    };
    const stream = await (await client()).responses.create({ model: 'test-responses', input: 'Hi', stream: true });
    const failure = await failureOf(OpenAI.APIError, collect(stream));
    assert.equal(failure.code, 'upstream_error');
    const { usage: known } = await account.endedCall();
    assert.equal(known.source, 'estimated');
    const input = estimatedInput('responses', JSON.parse(gateway.provider.requests.at(-1)!.body.toString()));
    await assertSpent(account, costNano({ input, output: Math.ceil('Hello there'.length / 4) }));
  });

  test('a responses stream that is cut within an event is thrown as the gateway’s error', async () => {
    const events = responsesStream({ words: ['Hello', ' there'], response: { usage } });
    const [next, terminal] = [events[5]!, events.at(-1)!];
    for (const half of [
      'event: response.output',
      next.slice(0, -3),
      terminal.slice(0, -3),
      'event: error\ndata: {"t',
    ]) {
      gateway.provider.respond = sse([...events.slice(0, 5), half]);
      const stream = await (await client()).responses.create({ model: 'test-responses', input: 'Hi', stream: true });
      const seen: string[] = [];
      const iterate = async (): Promise<void> => {
        for await (const { type } of stream) seen.push(type);
      };
      const failure = await failureOf(OpenAI.APIError, iterate());
      assert.equal(seen.length, 5, half);
      assert.equal(failure.code, 'upstream_error', half);
      assert.match(failure.message, /The provider aborted the stream\. The output received so far is charged\.$/, half);
      const { source, outputTokens } = (await account.endedCall()).usage;
      assert.deepEqual([source, outputTokens], ['estimated', Math.ceil('Hello'.length / 4)], half);
    }
  });

  test('an image stream that fails before its image is thrown as an error, and is free', async () => {
    gateway.provider.respond = sse([
      ...imageStream('image_generation').slice(0, 1),
      event('error', { error: { code: 'moderation_blocked', message: 'No.', type: 'image_error', param: null } }),
    ]);
    const stream = await (await client()).images.generate({ ...cat, stream: true, partial_images: 1 });
    const failure = await failureOf(OpenAI.APIError, collect(stream));
    assert.equal(failure.code, 'moderation_blocked');
    await account.endedCall();
    await assertSpent(account, 0n);
  });
});

function imageStream(kind: ImageEvents): string[] {
  return [
    imageEvent(kind, 'partial_image', { partial_image_index: 0 }),
    imageEvent(kind, 'partial_image', { partial_image_index: 1 }),
    imageEvent(kind, 'completed', { usage: imageFacts }),
  ];
}

describe('openai SDK: errors of other operations than chat', { timeout: 60_000 }, () => {
  let gateway: TestGateway;
  let rich: TestAccount;
  let poor: TestAccount;
  before(async () => {
    gateway = await startGateway();
    rich = await gateway.createAccount();
    poor = await gateway.createAccount({ balanceYuan: '0' });
  });
  after(async () => {
    if (gateway === undefined) return;
    await assertSpent(rich, 0n);
    await gateway.stop();
  });

  /** The SDK's default number of retries. */
  const replaying = (account: Pick<TestAccount, 'key'>): OpenAI => openai(gateway, account, 2);
  type Failure = abstract new (...given: never) => InstanceType<typeof OpenAI.APIError>;
  const input = { model: 'test-responses', input: 'Hi' };
  const blank = { key: 'fg_nothing' };

  const rows: readonly (readonly [
    what: string,
    send: () => Promise<unknown>,
    kind: Failure,
    status: number,
    code: string,
    param?: string,
  ])[] = [
    ['a wrong key', () => replaying(blank).responses.create(input), OpenAI.AuthenticationError, 401, 'invalid_api_key'],
    [
      'a wrong key for a list',
      () => replaying(blank).models.list(),
      OpenAI.AuthenticationError,
      401,
      'invalid_api_key',
    ],
    [
      'an unknown model',
      () => replaying(rich).embeddings.create({ model: 'nobody', input: 'Hi' }),
      OpenAI.NotFoundError,
      404,
      'model_not_found',
      'model',
    ],
    [
      'an unknown model’s detail',
      () => replaying(rich).models.retrieve('nobody'),
      OpenAI.NotFoundError,
      404,
      'model_not_found',
      'model',
    ],
    [
      'an unknown model to count for',
      () => replaying(rich).responses.inputTokens.count({ ...input, model: 'nobody' }),
      OpenAI.NotFoundError,
      404,
      'model_not_found',
      'model',
    ],
    [
      'a model that does something else',
      () => replaying(rich).images.generate({ model: 'test-chat', prompt: 'A cat.' }),
      OpenAI.BadRequestError,
      400,
      'model_not_found',
      'model',
    ],
    [
      'a response in the background',
      () => replaying(rich).responses.create({ ...input, background: true }),
      OpenAI.BadRequestError,
      400,
      'invalid_request_error',
      'background',
    ],
    [
      'a compaction of nothing that is known',
      () => replaying(rich).responses.compact({ model: null, previous_response_id: 'resp_unknown' }),
      OpenAI.BadRequestError,
      400,
      'invalid_request_error',
      'model',
    ],
    [
      'too many images',
      () => replaying(rich).images.generate({ model: 'gpt-image-2', prompt: 'A cat.', n: 11 }),
      OpenAI.BadRequestError,
      400,
      'invalid_request_error',
      'n',
    ],
    [
      'an edit of what is no image',
      async () => {
        const image = await toFile(Buffer.from('not an image'), 'cat.png');
        return replaying(rich).images.edit({ model: 'gpt-image-2', prompt: 'A cat.', image });
      },
      OpenAI.BadRequestError,
      400,
      'invalid_request_error',
      'image[0]',
    ],
    [
      'no money for a response',
      () => replaying(poor).responses.create(input),
      OpenAI.APIError,
      402,
      'insufficient_balance',
    ],
    [
      'no money for a compaction',
      () => replaying(poor).responses.compact({ ...input, model: 'test-responses' }),
      OpenAI.RateLimitError,
      429,
      'insufficient_balance',
    ],
    [
      'no money for an image',
      () => replaying(poor).images.generate(cat),
      OpenAI.RateLimitError,
      429,
      'insufficient_balance',
    ],
  ];
  for (const [what, send, kind, status, code, param] of rows) {
    test(`${what} is thrown as ${status} ${code}, is not retried, and never reaches the provider`, async () => {
      const before = gateway.provider.requests.length;
      const calls = watchCalls(gateway);
      const failure = await failureOf(kind, send());
      assert.deepEqual([failure.status, failure.code, failure.param ?? undefined], [status, code, param]);
      assert.match(failure.requestID ?? '', /^req_[0-9a-z]{26}$/);
      assert.equal(calls.length, 1);
      assert.equal(gateway.provider.requests.length, before);
    });
  }

  test('a success that cannot be billed is thrown as 502, is not replayed, and is free', async () => {
    const calls = watchCalls(gateway);
    for (const [respond, send] of [
      [json(200, responseObject({ usage: null })), () => replaying(rich).responses.create(input)],
      [
        json(200, compactionResult({ usage: undefined })),
        () => replaying(rich).responses.compact({ ...input, model: 'test-responses' }),
      ],
      [json(200, imagesResult(1)), () => replaying(rich).images.generate(cat)],
      [
        json(200, embeddingList(null)),
        () => replaying(rich).embeddings.create({ model: 'test-embeddings', input: 'Hi' }),
      ],
    ] as const) {
      calls.length = 0;
      gateway.provider.respond = respond;
      const failure = await failureOf(OpenAI.InternalServerError, send());
      assert.deepEqual([failure.status, failure.code], [502, 'upstream_error']);
      assert.equal(calls.length, 1);
    }
  });
});

describe('model lists and details in the SDKs', { timeout: 60_000 }, () => {
  let gateway: TestGateway;
  let account: TestAccount;
  before(async () => {
    gateway = await startGateway();
    account = await gateway.createAccount();
  });
  after(() => gateway?.stop());

  test('openai models.list returns every listed model and alias once, and no others', async () => {
    const ids = (await collect(openai(gateway, account).models.list())).map(({ id }) => id);
    assert.ok(ids.includes('test-chat') && ids.includes('test-messages') && ids.includes('gpt-image-2'), ids.join());
    assert.ok(ids.includes('test-chat-latest') && !ids.includes('test-hidden'), ids.join());
    assert.equal(new Set(ids).size, ids.length);
  });

  test('openai models.retrieve returns the canonical id for an alias', async () => {
    const model = await openai(gateway, account).models.retrieve('test-chat-latest');
    assert.deepEqual([model.id, model.object], ['test-chat', 'model']);
    await failureOf(OpenAI.NotFoundError, openai(gateway, account).models.retrieve('test-hidden'));
  });

  test('anthropic models.list has the models of the messages protocol, on one page', async () => {
    const page = await anthropic(gateway, account).models.list();
    assert.deepEqual(
      page.data.map(({ id, type }) => [id, type]),
      [
        ['test-messages', 'model'],
        ['test-both', 'model'],
      ],
    );
    assert.deepEqual([page.has_more, page.first_id, page.last_id], [false, 'test-messages', 'test-both']);
    assert.equal(page.hasNextPage(), false);
  });

  test('anthropic models.list of the root base address reads the shared list', async () => {
    const models = await collect(anthropic(gateway, account, '').models.list());
    assert.ok(models.some(({ id }) => id === 'test-messages'));
    assert.ok(models.every(({ type, display_name }) => type === 'model' && display_name !== ''));
  });

  test('anthropic models.list pages return the same models, by version and lifecycle', async () => {
    for (const base of ['', '/altproto']) {
      const { models } = anthropic(gateway, account, base);
      const paged = await collect(models.list({ limit: 1, lifecycle: ['active'] }));
      assert.deepEqual(paged, (await models.list()).data);
    }
  });

  test('anthropic models.retrieve gets the contract’s detail, or not_found_error', async () => {
    const model = await anthropic(gateway, account).models.retrieve('test-messages');
    assert.deepEqual(plain(model), {
      id: 'test-messages',
      type: 'model',
      display_name: 'test-messages',
      created_at: '1970-01-01T00:00:00.000Z',
      max_input_tokens: null,
      max_tokens: 100,
      capabilities: null,
      lifecycle: 'active',
      deprecated_at: null,
      retires_at: null,
      line: null,
    });
    const failure = await failureOf(Anthropic.NotFoundError, anthropic(gateway, account).models.retrieve('test-chat'));
    assert.equal(failure.type, 'not_found_error');
  });

  for (const base of ['', '/altproto', '/altproto/coding']) {
    test(`anthropic messages.countTokens estimates at ${base || 'the root'}, without provider or charge`, async () => {
      const before = gateway.provider.requests.length;
      const sdk = anthropic(gateway, account, base);
      const count = (content: string) =>
        sdk.messages.countTokens({ model: 'test-messages', messages: [{ role: 'user', content }] });
      const short = await count('Count this.');
      const long = await count('word '.repeat(500));
      assert.ok(short.input_tokens > 0 && long.input_tokens > short.input_tokens + 400, JSON.stringify([short, long]));
      assert.equal(gateway.provider.requests.length, before);
      await assertSpent(account, 0n);
    });
  }

  test('anthropic errors of lists and counts are the SDK’s own classes', async () => {
    const stranger = anthropic(gateway, { key: 'fg_nothing' });
    const denied = await failureOf(Anthropic.AuthenticationError, stranger.models.list());
    assert.equal(denied.type, 'authentication_error');
    const sdk = anthropic(gateway, account);
    const malformed = await failureOf(
      Anthropic.BadRequestError,
      sdk.messages.countTokens({ model: 'test-messages', messages: 'Hi' as unknown as [] }),
    );
    assert.equal(malformed.type, 'invalid_request_error');
    assert.match(malformed.requestID ?? '', /^req_[0-9a-z]{26}$/);
  });
});

describe(`openai SDK, with a third-party simulator as provider:`, { timeout: 60_000 }, () => {
  const simulator = new LLMock({ port: 0, host: '127.0.0.1', journalMaxEntries: 1 });
  let gateway: TestGateway;
  let account: TestAccount;
  let sdk: OpenAI;
  before(async () => {
    simulator.onEmbedding(/[\s\S]*/, { embedding: [0.5, -0.25, 1] });
    simulator.onImage(/[\s\S]*/, { images: [{ b64Json: IMAGE_TEXT }, { b64Json: IMAGE_TEXT }] });
    simulator.onMessage(/[\s\S]*/, { content: 'Hello there', usage: { input_tokens: 21, output_tokens: 9 } });
    await simulator.start();
    const price = '{ input: "3", output: "13" }';
    gateway = await startGateway({
      providers: `  simulated: { protocol: chat, baseUrl: "${simulator.baseUrl}/v1", apiKey: provider-secret-key-3, missingUsage: estimate }`,
      models: `
  sim-text: { operations: [chat, responses, embeddings], price: ${price}, routes: [{ provider: simulated, model: gpt-4o }] }
  sim-images: { operations: [images.generate, images.edit], price: { perImage: "0.000023" }, routes: [{ provider: simulated, model: gpt-image-1 }] }
`,
    });
    account = await gateway.createAccount();
    sdk = openai(gateway, account);
  });
  after(async () => {
    await gateway?.stop();
    await simulator.stop();
  });

  let spentNano = 0n;
  const assertCost = (costNanoOfCall: bigint): Promise<void> => {
    spentNano += costNanoOfCall;
    return assertSpent(account, spentNano);
  };

  test('responses, non-streaming and streamed, are charged by their usage', async () => {
    const whole = await sdk.responses.create({ model: 'sim-text', input: 'Hi' });
    assert.equal(whole.output_text, 'Hello there');
    assert.deepEqual([whole.usage!.input_tokens, whole.usage!.output_tokens], [21, 9]);
    await assertCost(costNano({ input: 21, output: 9 }));
    const final = await sdk.responses.stream({ model: 'sim-text', input: 'Hi' }).finalResponse();
    assert.equal(final.output_text, 'Hello there');
    await assertCost(costNano({ input: 21, output: 9 }));
  });

  test('embeddings are charged by an estimate, because the simulator reports zeros', async () => {
    const response = await sdk.embeddings.create({ model: 'sim-text', input: 'Hi' });
    assert.deepEqual(response.data[0]!.embedding, [0.5, -0.25, 1]);
    assert.equal(response.usage.prompt_tokens, 0);
    const { usage, doubtedUsage } = await account.endedCall();
    assert.deepEqual([usage.source, doubtedUsage], ['estimated', ['input']]);
    assert.ok(usage.inputTokens > 0);
    await assertCost(costNano({ input: usage.inputTokens }));
  });

  test('generated and edited images are charged by number', async () => {
    const generated = await sdk.images.generate({ model: 'sim-images', prompt: 'Cats.', n: 2 });
    assert.equal(generated.data!.length, 2);
    await assertCost(2n * 23_000n);
    const edited = await sdk.images.edit({
      model: 'sim-images',
      prompt: 'Cats.',
      image: await file('cat.png'),
      n: 2,
    });
    assert.equal(edited.data!.length, 2);
    assert.equal(edited.data![0]!.b64_json, IMAGE_TEXT);
    await assertCost(BigInt(edited.data!.length) * 23_000n);
  });

  test('its errors are thrown as the SDK’s own classes, and are free', async () => {
    simulator.nextRequestError(422, { message: 'Not like this.', type: 'invalid_request_error', code: 'odd' });
    const failure = await failureOf(
      OpenAI.UnprocessableEntityError,
      sdk.responses.create({ model: 'sim-text', input: 'Hi' }),
    );
    assert.deepEqual([failure.code, failure.message.includes('Not like this.')], ['odd', true]);
    await assertCost(0n);
  });
});
