import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { formatYuan } from '../../src/lib/yuan.ts';
import { type ClientResponse, call } from '../support/client.ts';
import {
  embeddingList,
  type FormPart,
  form,
  type ImageEvents,
  imageEvent,
  imagesResult,
  imageUsage,
  jsonBody,
  png,
  rerankResult,
  type TypedBody,
} from '../support/endpoints.ts';
import { estimatedInput } from '../support/families.ts';
import { costNano, PRICE, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import {
  chatCompletion,
  chatStream,
  event,
  json,
  message,
  messagesStream,
  type Respond,
  sse,
} from '../support/provider.ts';
import { compactionResult, responseObject, responsesStream, usageOf } from '../support/responses.ts';
import { byScope } from '../support/scope.ts';

/**
 * For every charging address: the ledger charges exactly the cost of the facts in the provider's response, calculated here independently
 * from the parts of those facts, and nothing if the provider failed or reported no facts.
 */

/** One call: the request, the provider's response, and the charge. */
interface Scenario {
  /** The request. Its text contains an id that selects the provider's response. */
  readonly request: (mark: string) => TypedBody;
  readonly respond: Respond;
  readonly costNano: bigint;
}

/** An address, or one of the ways in which it is charged. */
interface Kind {
  readonly name: string;
  readonly path: string;
  readonly isStream: boolean;
  readonly scenario: fc.Arbitrary<Scenario>;
  /** Apparent successes that lack what the charge needs. */
  readonly withoutFacts: readonly Respond[];
}

/** The highest plausible input, and output, of a model without limits. */
const BELIEVED_MAX = 10_000_000;
/** Up to six of them add up to a plausible count. */
const tokens = fc.oneof({ weight: 3, arbitrary: fc.nat(2_000) }, fc.constant(0), fc.nat(Math.floor(BELIEVED_MAX / 6)));
/** For counts that are positive in any response with content. */
const some = tokens.map((count) => Math.max(count, 1));
/** Models without limits, so that all plausible usage is charged. */
const CHAT_AND_MESSAGES = 'test-both';
const RESPONSES = 'test-responses-unlimited';
const MODELS = `
  ${RESPONSES}:
    operations: [responses, compact]
    price: ${PRICE}
    routes: [{ provider: chatty, model: upstream-responses }]`;
/** Invalid counts. */
const NO_COUNTS: readonly unknown[] = [null, undefined, 'seven', '1.5', -1, 1.5, 2 ** 31, [7], {}, true];

/** Counts that the contract declares (2.1, 2.2) also do not accept strings. */
const NO_DECLARED_COUNTS: readonly unknown[] = [...NO_COUNTS, '7'];

const chatParts = fc.record({ plain: some, cached: tokens, written: tokens, output: some, reasoning: tokens });
const chatFacts = chatParts.map(({ plain, cached, written, output, reasoning }) => ({
  usage: {
    prompt_tokens: plain + cached + written,
    completion_tokens: output,
    total_tokens: plain + cached + written + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: Math.min(reasoning, output) },
  },
  costNano: costNano({ input: plain, cached, written, output }),
}));
const chatRequest =
  (isStream: boolean) =>
  (mark: string): TypedBody =>
    jsonBody({
      model: CHAT_AND_MESSAGES,
      messages: [{ role: 'user', content: mark }],
      // The gateway gets the usage of a stream whether or not the client requests it.
      ...(isStream ? { stream: true } : {}),
    });

const messagesParts = fc.record({ input: some, cached: tokens, short: tokens, long: tokens, output: some });
const messagesFacts = messagesParts.map(({ input, cached, short, long, output }) => ({
  usage: {
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: short + long,
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
  },
  costNano: costNano({ input, cached, written: short, written1h: long, output }),
}));
const messagesRequest =
  (stream: boolean) =>
  (mark: string): TypedBody =>
    jsonBody({ model: CHAT_AND_MESSAGES, max_tokens: 50, messages: [{ role: 'user', content: mark }], stream });

const responsesParts = fc.record({ plain: some, cached: tokens, short: tokens, long: tokens, output: some });
const responsesFacts = fc
  .tuple(responsesParts, fc.boolean())
  .map(([{ plain, cached, short, long, output }, tellsLifetimes]) => ({
    usage: usageOf(plain + cached + Math.floor(short / 4) + Math.floor(long / 4), output, {
      cached_tokens: cached,
      cache_write_tokens: Math.floor(short / 4) + Math.floor(long / 4),
      ...(tellsLifetimes
        ? {
            cache_write_tokens_details: {
              ttl_30m_tokens: Math.floor(short / 4),
              ttl_12h_tokens: Math.floor(long / 4),
            },
          }
        : {}),
    }),
    costNano: tellsLifetimes
      ? costNano({
          input: plain,
          cached,
          written: Math.floor(short / 4),
          written1h: Math.floor(long / 4),
          output,
        })
      : costNano({ input: plain, cached, written: Math.floor(short / 4) + Math.floor(long / 4), output }),
  }));
const responsesRequest =
  (stream: boolean) =>
  (mark: string): TypedBody =>
    jsonBody({ model: RESPONSES, input: mark, stream });

const rerankRequest =
  (model: string, documents = 2) =>
  (mark: string): TypedBody =>
    jsonBody({ model, query: mark, documents: Array.from({ length: documents }, (_, i) => `text ${i}`) });

/** Every place where a rerank provider reports tokens, with counts of the same sum. */
const rerankTokens = fc.tuple(some, tokens, fc.nat(4)).map(([input, output, shape]) => {
  const sum = input + output;
  const facts = [
    { usage: { total_tokens: sum, prompt_tokens: input } },
    { usage: { prompt_tokens: sum } },
    { meta: { billed_units: { total_tokens: sum } } },
    { meta: { tokens: { input_tokens: input, output_tokens: output } } },
    { tokens: { input_tokens: input, output_tokens: output } },
  ];
  return { facts: facts[shape]!, costNano: costNano({ input: sum }) };
});

/** Prices of image tokens in nano-yuan, from the test configuration. */
function imageTokensNano({ text = 0, image = 0, textOut = 0, imageOut = 0 }): bigint {
  return BigInt(3000 * text + 17_000 * image + 13_000 * textOut + 19_000 * imageOut);
}

/** Prices per image by quality and size, from the test configuration. */
function imageNano(quality: string | undefined, size: string | undefined): bigint {
  if (quality === 'low') return 23_000n;
  if (quality !== 'high') return 37_000n;
  return size === '1024x1024' ? 29_000n : 31_000n;
}

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n);

interface ImageFields {
  readonly model?: string | undefined;
  readonly n?: number | undefined;
  readonly quality?: string | undefined;
  readonly size?: string | undefined;
  readonly stream?: boolean | undefined;
  readonly partial_images?: number | undefined;
}

/** Both image addresses send the same request, as JSON or as a form. */
interface ImageAddress {
  readonly name: string;
  readonly path: string;
  readonly events: ImageEvents;
  readonly request: (fields: ImageFields) => (mark: string) => TypedBody;
}

const PICTURE = png(8, 8);
const imageAddresses: readonly ImageAddress[] = [
  {
    name: 'image generation',
    path: '/v1/images/generations',
    events: 'image_generation',
    request: (fields) => (mark) => jsonBody({ prompt: mark, ...fields }),
  },
  {
    name: 'image edit',
    path: '/v1/images/edits',
    events: 'image_edit',
    request: (fields) => (mark) => {
      const texts = Object.entries(fields).filter(([, value]) => value !== undefined);
      return form([
        ...texts.map(([name, value]): FormPart => [name, String(value)]),
        ['image[]', PICTURE, 'one.png'],
        ['image[]', PICTURE, 'two.png'],
        ['prompt', mark],
      ]);
    },
  },
];

const maybe = <Value>(...values: Value[]): fc.Arbitrary<Value | undefined> => fc.constantFrom(...values, undefined);
const anyQuality = maybe('low', 'medium', 'high', 'auto');
const anySize = maybe('1024x1024', '1536x1024', 'auto');

function imageKinds({ name, path, events, request }: ImageAddress): Kind[] {
  const byTokens = { model: 'test-images' };

  const wholeByTokens = fc
    .record({ text: tokens, image: tokens, textOut: tokens, imageOut: tokens, hasDetails: fc.boolean() })
    .map(({ text, image, textOut, imageOut, hasDetails }): Scenario => {
      const details = { output_tokens_details: { text_tokens: textOut, image_tokens: imageOut } };
      const usage = imageUsage({ text, image }, textOut + imageOut, hasDetails ? details : {});
      return {
        request: request(byTokens),
        respond: json(200, imagesResult(1, { usage })),
        // Output without details counts as image.
        costNano: imageTokensNano(
          hasDetails ? { text, image, textOut, imageOut } : { text, image, imageOut: textOut + imageOut },
        ),
      };
    });

  const streamByTokens = fc
    .array(fc.record({ text: tokens, image: tokens, output: tokens, partials: fc.nat(3) }), {
      minLength: 1,
      maxLength: 3,
    })
    .map(
      (images): Scenario => ({
        request: request({ ...byTokens, n: images.length, stream: true, partial_images: 3 }),
        respond: sse(
          images.flatMap(({ text, image, output, partials }) => [
            ...Array.from({ length: partials }, (_, i) =>
              imageEvent(events, 'partial_image', { partial_image_index: i }),
            ),
            imageEvent(events, 'completed', { usage: imageUsage({ text, image }, output) }),
          ]),
        ),
        costNano: sum(images.map(({ text, image, output }) => imageTokensNano({ text, image, imageOut: output }))),
      }),
    );

  const asked = fc.record({ model: maybe('gpt-image-2', 'gpt-image-1.5'), quality: anyQuality, size: anySize });
  /** The image's properties in the response, if any. */
  const delivered = fc.record({ quality: anyQuality, size: anySize });

  const wholeByCount = fc.tuple(asked, delivered, fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 10 })).map(
    ([{ model, ...wanted }, given, n, count]): Scenario => ({
      // Without a model, the parameters determine it (contract 4.5, 4.6). Here all defaults are names of one model.
      request: request({ model, ...wanted, n }),
      respond: json(200, imagesResult(count, given)),
      // At most the requested number of images is charged.
      costNano: BigInt(Math.min(count, n)) * imageNano(given.quality ?? wanted.quality, given.size ?? wanted.size),
    }),
  );

  const streamByCount = fc.tuple(asked, fc.array(delivered, { minLength: 1, maxLength: 3 }), fc.nat(2)).map(
    ([{ model, ...wanted }, images, missing]): Scenario => ({
      request: request({ ...wanted, model, n: images.length + missing, stream: true }),
      respond: sse(images.map((given) => imageEvent(events, 'completed', given))),
      costNano: sum(images.map((given) => imageNano(given.quality ?? wanted.quality, given.size ?? wanted.size))),
    }),
  );

  const unreadable = NO_DECLARED_COUNTS.flatMap((count) => [
    { ...imageUsage({ text: 1, image: 2 }, 3), input_tokens: count },
    { ...imageUsage({ text: 1, image: 2 }, 3), output_tokens: count },
    { ...imageUsage({ text: 1, image: 2 }, 3), total_tokens: count },
  ]);
  const neverCompleted = [
    sse([]),
    sse([': keep-alive\n\n']),
    sse([imageEvent(events, 'partial_image', { partial_image_index: 0 })]),
    sse([imageEvent(events, 'partial_image', { partial_image_index: 0 }), event('error', { message: 'No.' })]),
    sse([event('error', { code: 'moderation_blocked', message: 'No.', param: null })]),
    sse(['data: {"error":{"message":"No."}}\n\n']),
  ];
  const usage = imageUsage({ text: 1, image: 2 }, 3);
  const notImages = [
    imagesResult(0, { usage }),
    { ...imagesResult(1, { usage }), data: null },
    { ...imagesResult(1, { usage }), data: {} },
    { ...imagesResult(1, { usage }), data: undefined },
    { ...imagesResult(1, { usage }), created: undefined },
    [imagesResult(1, { usage })],
  ];
  return [
    {
      name: `${name} by tokens`,
      path,
      isStream: false,
      scenario: wholeByTokens,
      withoutFacts: [
        ...[undefined, null, {}, [], 'none', ...unreadable].map((given) =>
          json(200, imagesResult(1, { usage: given })),
        ),
        ...notImages.map((response) => json(200, response)),
      ],
    },
    {
      name: `${name} stream by tokens`,
      path,
      isStream: true,
      scenario: streamByTokens,
      withoutFacts: [
        ...neverCompleted,
        ...[undefined, null, {}, ...unreadable].map((given) =>
          sse([imageEvent(events, 'completed', { usage: given })]),
        ),
      ],
    },
    {
      name: `${name} by count`,
      path,
      isStream: false,
      scenario: wholeByCount,
      withoutFacts: notImages.map((response) => json(200, response)),
    },
    {
      name: `${name} stream by count`,
      path,
      isStream: true,
      scenario: streamByCount,
      withoutFacts: [
        ...neverCompleted,
        sse([imageEvent(events, 'completed', { b64_json: undefined, usage })]),
        sse([imageEvent(events, 'completed', { b64_json: '', usage })]),
      ],
    },
  ];
}

const unreadableTotals = (usage: object, names: readonly string[], noCounts = NO_COUNTS): object[] =>
  noCounts.flatMap((count) => names.map((name) => ({ ...usage, [name]: count })));

const kinds: readonly Kind[] = [
  {
    name: 'chat',
    path: '/v1/chat/completions',
    isStream: false,
    scenario: chatFacts.map(({ usage, costNano }) => ({
      request: chatRequest(false),
      respond: json(200, chatCompletion(usage)),
      costNano,
    })),
    withoutFacts: [
      json(200, chatCompletion(null)),
      json(200, [chatCompletion()]),
      ...unreadableTotals({ prompt_tokens: 1, completion_tokens: 2 }, ['prompt_tokens', 'completion_tokens']).map(
        (usage) => json(200, chatCompletion(usage)),
      ),
    ],
  },
  {
    name: 'chat stream',
    path: '/v1/chat/completions',
    isStream: true,
    scenario: chatFacts.map(({ usage, costNano }) => ({
      request: chatRequest(true),
      respond: sse(chatStream(['Hello', ' there'], usage)),
      costNano,
    })),
    withoutFacts: [sse([]), sse([': keep-alive\n\n']), sse(['data: {"error":{"message":"No."}}\n\n'])],
  },
  {
    name: 'messages',
    path: '/v1/messages',
    isStream: false,
    scenario: messagesFacts.map(({ usage, costNano }) => ({
      request: messagesRequest(false),
      respond: json(200, message(usage)),
      costNano,
    })),
    withoutFacts: [
      json(200, message(null)),
      ...unreadableTotals({ input_tokens: 1, output_tokens: 2 }, ['input_tokens', 'output_tokens']).map((usage) =>
        json(200, message(usage)),
      ),
    ],
  },
  {
    name: 'messages stream',
    path: '/v1/messages',
    isStream: true,
    scenario: messagesFacts.map(({ usage, costNano }) => ({
      request: messagesRequest(true),
      respond: sse(messagesStream(['Hello', ' there'], usage)),
      costNano,
    })),
    withoutFacts: [sse([]), sse([event('error', { error: { type: 'overloaded_error', message: 'No.' } })])],
  },
  {
    name: 'embeddings',
    path: '/v1/embeddings',
    isStream: false,
    scenario: some.map((input) => ({
      request: (mark) => jsonBody({ model: 'test-embeddings', input: [mark, 'more'] }),
      respond: json(200, embeddingList({ prompt_tokens: input, total_tokens: input })),
      costNano: costNano({ input }),
    })),
    withoutFacts: [
      json(200, embeddingList(null)),
      ...NO_COUNTS.map((count) => json(200, embeddingList({ prompt_tokens: count }))),
    ],
  },
  {
    name: 'rerank by tokens',
    path: '/v1/rerank',
    isStream: false,
    scenario: rerankTokens.map(({ facts, costNano }) => ({
      request: rerankRequest('test-rerank'),
      respond: json(200, rerankResult(facts)),
      costNano,
    })),
    withoutFacts: [
      json(200, rerankResult({})),
      // An unrelated count.
      json(200, rerankResult({ meta: { billed_units: { search_units: 1 } } })),
      ...NO_COUNTS.map((count) => json(200, rerankResult({ usage: { total_tokens: count } }))),
      json(200, { ...rerankResult({ usage: { total_tokens: 7 } }), results: undefined }),
    ],
  },
  {
    name: 'rerank by call',
    path: '/v1/rerank',
    isStream: false,
    scenario: fc.option(tokens, { nil: undefined }).map((count) => ({
      request: rerankRequest('test-rerank-calls'),
      respond: json(200, rerankResult({ usage: { total_tokens: count } })),
      costNano: 17_000n,
    })),
    withoutFacts: [
      json(200, { ...rerankResult({}), results: undefined }),
      json(200, { ...rerankResult({}), results: 'none' }),
      json(200, {}),
    ],
  },
  {
    name: 'rerank by search unit',
    path: '/v1/rerank',
    isStream: false,
    scenario: fc
      .tuple(fc.integer({ min: 1, max: 450 }), fc.oneof(fc.integer({ min: 1, max: 7 }), some))
      .map(([documents, units]) => ({
        request: rerankRequest('test-rerank-units', documents),
        respond: json(
          200,
          rerankResult({ meta: { billed_units: { search_units: units } }, usage: { total_tokens: 7 } }),
        ),
        // One unit per hundred documents, rounded up, and no more.
        costNano: BigInt(Math.min(units, Math.ceil(documents / 100))) * 19_000n,
      })),
    withoutFacts: [
      json(200, rerankResult({ usage: { total_tokens: 7 } })),
      ...NO_COUNTS.map((count) => json(200, rerankResult({ meta: { billed_units: { search_units: count } } }))),
    ],
  },
  {
    name: 'responses',
    path: '/v1/responses',
    isStream: false,
    scenario: responsesFacts.map(({ usage, costNano }) => ({
      request: responsesRequest(false),
      respond: json(200, responseObject({ usage })),
      costNano,
    })),
    withoutFacts: [
      json(200, responseObject({ usage: null })),
      json(200, { ...responseObject({ usage: null }), status: 'queued' }),
      json(200, {
        ...responseObject({ usage: null }),
        status: 'failed',
        error: { code: 'server_error', message: 'No.' },
      }),
      json(200, { ...responseObject({ usage: usageOf(1, 2) }), object: 'list' }),
      ...unreadableTotals(usageOf(1, 2), ['input_tokens', 'output_tokens']).map((usage) =>
        json(200, responseObject({ usage })),
      ),
    ],
  },
  {
    name: 'responses stream',
    path: '/v1/responses',
    isStream: true,
    scenario: responsesFacts.map(({ usage, costNano }) => ({
      request: responsesRequest(true),
      respond: sse(responsesStream({ words: ['Hello', ' there'], response: { usage } })),
      costNano,
    })),
    withoutFacts: [
      sse([]),
      sse([event('error', { code: 'server_error', message: 'No.', param: null })]),
      sse([
        event('response.failed', { response: { ...responseObject({ usage: null }), status: 'failed', output: [] } }),
      ]),
    ],
  },
  {
    name: 'compaction',
    path: '/v1/responses/compact',
    isStream: false,
    scenario: responsesFacts.map(({ usage, costNano }) => ({
      request: (mark) => jsonBody({ model: RESPONSES, input: mark }),
      respond: json(200, compactionResult({ usage })),
      costNano,
    })),
    withoutFacts: [
      json(200, compactionResult({ usage: undefined })),
      json(200, responseObject({ usage: usageOf(1, 2) })),
      json(200, { ...compactionResult({ usage: usageOf(1, 2) }), output: [] }),
      json(200, { ...compactionResult({ usage: usageOf(1, 2) }), id: '' }),
      json(200, { ...compactionResult({ usage: usageOf(1, 2) }), created_at: 'today' }),
      ...unreadableTotals(usageOf(1, 2), ['input_tokens', 'output_tokens', 'total_tokens'], NO_DECLARED_COUNTS).map(
        (usage) => json(200, compactionResult({ usage })),
      ),
    ],
  },
  ...imageAddresses.flatMap(imageKinds),
];

const REFUSALS = [400, 401, 402, 403, 404, 409, 413, 422, 429, 500, 502, 503, 504, 529];
const ERROR_BODIES = [{ error: { message: 'No.', type: 'nope', code: 'nope' } }, 'busy', ''];

/** Each status with one of the bodies. Each kind of call starts with another body, so that all combinations occur. */
const refusalsOf = (kind: number): Respond[] =>
  REFUSALS.map((status, at) => json(status, ERROR_BODIES[(at + kind) % ERROR_BODIES.length]));

/** Other provider behaviour that is not a success at any address. */
const failures: readonly Respond[] = [
  json(302, {}, { location: '/elsewhere' }),
  json(201, '{}'),
  (_request, reply) => void reply.writeHead(204).end(),
  json(200, ''),
  json(200, 'null'),
  json(200, '{}'),
  json(200, '{"usage":{"prompt_tokens":1,"completion_tokens":1,"input_tokens":1,"output_tokens":1,"total_tokens":2}'),
  json(200, '<html>It works!</html>', { 'content-type': 'text/html' }),
  json(200, '{"usage":{}}', { 'content-encoding': 'gzip' }),
  (_request, reply) => void reply.socket!.resetAndDestroy(),
  (_request, reply) => {
    reply.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    reply.write('{"usage":', () => reply.socket!.resetAndDestroy());
  },
];

const TOP_UP_YUAN = '100000000';
const TOP_UP_NANO = 100_000_000_000_000_000n;

/** A gateway whose provider responds to each call by its id, with helpers. */
class Harness {
  g!: TestGateway;
  readonly #responses = new Map<string, Respond>();
  #calls = 0;

  async open(providerFields = ''): Promise<void> {
    this.g = await startGateway({ providerFields, models: MODELS });
    this.g.provider.respond = (request, reply) => {
      const [mark] = /call-\d+;/.exec(request.body.toString('latin1'))!;
      return this.#responses.get(mark)!(request, reply);
    };
  }

  richAccount(): Promise<TestAccount> {
    return this.g.createAccount({ balanceYuan: TOP_UP_YUAN });
  }

  async send(
    account: TestAccount,
    path: string,
    request: Scenario['request'],
    respond: Respond,
  ): Promise<ClientResponse> {
    const mark = `call-${this.#calls++};`;
    this.#responses.set(mark, respond);
    const { contentType, body } = request(mark);
    return call(this.g.url + path, account.key, body, { headers: { 'content-type': contentType } });
  }

  /** Newest first. */
  async ledger(account: TestAccount, limit = 500) {
    const { body } = await this.g.admin('GET', `/accounts/${account.id}/ledger?limit=${limit}`);
    return body.data;
  }

  async calls(account: TestAccount) {
    const { body } = await this.g.admin('GET', `/calls?accountId=${account.id}&limit=500`);
    return body.data;
  }
}

/** Any request of a kind. */
const requestOf = (kind: Kind): Scenario['request'] => fc.sample(kind.scenario, { seed: 1, numRuns: 1 })[0]!.request;

/** A failure has an error status, or is an error event of a stream. */
function assertFailed(response: ClientResponse, what: string): void {
  const shown = `${what}: ${response.status} ${response.text.slice(0, 500)}`;
  if (response.status === 200) assert.match(response.text, /"?error"?/, shown);
  else assert.ok(response.status >= 400, shown);
}

describe(`the ledger`, { timeout: 300_000 }, () => {
  const harness = new Harness();
  before(() => harness.open());
  after(() => harness.g?.stop());

  for (const kind of kinds) {
    test(`has usage times price for every ${kind.name}`, async () => {
      const account = await harness.richAccount();
      let balanceNano = TOP_UP_NANO;
      await fc.assert(
        fc.asyncProperty(kind.scenario, async ({ request, respond, costNano }) => {
          const response = await harness.send(account, kind.path, request, respond);
          assert.equal(response.status, 200, response.text.slice(0, 500));
          // The charge is in the database before the response ends.
          balanceNano -= costNano;
          assert.deepEqual(await account.money(), { balanceNano, heldNano: 0n });
          const record = await account.lastCall();
          assert.deepEqual(
            [record.requestId, record.status, record.httpStatus, record.isStream, record.usage.source],
            [response.headers['x-request-id'], 'succeeded', 200, kind.isStream, 'observed'],
          );
          assert.equal(record.chargeYuan, formatYuan(costNano));
          const [entry] = await harness.ledger(account, 1);
          assert.deepEqual(
            [entry.kind, entry.callId, entry.amountYuan, entry.balanceAfterYuan],
            ['charge', record.id, costNano === 0n ? '0' : formatYuan(-costNano), formatYuan(balanceNano)],
          );
        }),
        { numRuns: byScope({ full: 4, quick: 2 }), endOnFailure: true },
      );
    });
  }

  for (const [number, kind] of kinds.entries()) {
    test(`has nothing for a ${kind.name} that the provider fails, refuses or reports no facts of`, async () => {
      const account = await harness.richAccount();
      const request = requestOf(kind);
      const otherForm = kind.isStream ? json(200, imagesResult(1)) : sse(chatStream(['Hello']));
      const all = [...refusalsOf(number), ...failures, ...kind.withoutFacts, otherForm];
      const responses = await Promise.all(all.map((respond) => harness.send(account, kind.path, request, respond)));
      for (const [index, response] of responses.entries()) assertFailed(response, `failure ${index}`);

      assert.deepEqual(await account.money(), { balanceNano: TOP_UP_NANO, heldNano: 0n });
      assert.equal((await harness.ledger(account)).length, 1);
      const records = await harness.calls(account);
      assert.equal(records.length, all.length);
      for (const { status, httpStatus, chargeYuan, usage, requestId } of records) {
        const response = responses.find(({ headers }) => headers['x-request-id'] === requestId);
        assert.deepEqual(
          { isFailure: status === 'failed' || status === 'aborted', httpStatus, chargeYuan, usage },
          { isFailure: true, httpStatus: response?.status, chargeYuan: null, usage: null },
          response?.text.slice(0, 500),
        );
      }
    });
  }

  test('has the estimate of a responses stream that ends without facts, marked as one', async () => {
    const account = await harness.richAccount();
    let body = '';
    const request = (mark: string): TypedBody => {
      const typed = responsesRequest(true)(mark);
      body = typed.body.toString();
      return typed;
    };
    await harness.send(
      account,
      '/v1/responses',
      request,
      sse(responsesStream({ words: ['Hello', ' there'], response: { usage: null } })),
    );
    // Input by the token estimator, output by its text at four bytes per token.
    const paid = costNano({
      input: estimatedInput('responses', JSON.parse(body)),
      output: Math.ceil('Hello there'.length / 4),
    });
    assert.deepEqual(await account.money(), { balanceNano: TOP_UP_NANO - paid, heldNano: 0n });
    assert.equal((await account.lastCall()).usage.source, 'estimated');
  });

  test('is exact to the nano-yuan after any mixture of concurrent calls on one account', async () => {
    const success = fc.oneof(
      ...kinds.map(({ path, scenario }) => scenario.map((each) => ({ path, ...each, isFailure: false }))),
    );
    const failure = fc
      .tuple(fc.constantFrom(...kinds), fc.constantFrom(...refusalsOf(0), ...failures))
      .map(([kind, respond]) => ({
        path: kind.path,
        request: requestOf(kind),
        respond,
        costNano: 0n,
        isFailure: true,
      }));
    const mixture = fc.array(fc.oneof({ weight: 3, arbitrary: success }, failure), { minLength: 60, maxLength: 90 });
    await fc.assert(
      fc.asyncProperty(mixture, async (calls) => {
        const account = await harness.richAccount();
        const responses = await Promise.all(
          calls.map(({ path, request, respond }) => harness.send(account, path, request, respond)),
        );
        const charged = sum(calls.map(({ costNano }) => costNano));
        assert.deepEqual(await account.money(), { balanceNano: TOP_UP_NANO - charged, heldNano: 0n });

        const records = new Map(
          (await harness.calls(account)).map((record: { requestId: string }) => [record.requestId, record]),
        );
        assert.equal(records.size, calls.length);
        for (const [index, { costNano, isFailure }] of calls.entries()) {
          const record = records.get(responses[index]!.headers['x-request-id']) as { chargeYuan: string | null };
          assert.equal(record.chargeYuan, isFailure ? null : formatYuan(costNano));
        }
        const entries: { kind: string; callId: string }[] = await harness.ledger(account);
        const charges = entries.filter(({ kind }) => kind === 'charge');
        assert.equal(charges.length, calls.filter(({ isFailure }) => !isFailure).length);
        assert.equal(new Set(charges.map(({ callId }) => callId)).size, charges.length);
      }),
      { numRuns: byScope({ full: 2, quick: 1 }), endOnFailure: true },
    );
  });
});

describe(`the ledger, if the provider stalls,`, { timeout: 300_000 }, () => {
  const harness = new Harness();
  before(() => harness.open('timeouts: { firstByte: 200ms, idle: 200ms }'));
  after(() => harness.g?.stop());

  const silences: readonly (readonly [what: string, of: (kind: Kind) => boolean, respond: Respond])[] = [
    ['before its response', () => true, () => undefined],
    [
      'behind the head of its response',
      () => true,
      (request, reply) => {
        const isStream = /"stream":true|"stream"\r\n\r\ntrue/.test(request.body.toString('latin1'));
        reply.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
        reply.flushHeaders();
      },
    ],
    [
      'in the middle of a whole response',
      ({ isStream }) => !isStream,
      (_request, reply) => {
        reply.writeHead(200, { 'content-type': 'application/json' });
        reply.write('{"usage":{"input_tokens":1,"output_tokens":1,"prompt_tokens":1,"completion_tokens":1},');
      },
    ],
    [
      'behind a partial image',
      ({ isStream, path }) => isStream && path.startsWith('/v1/images/'),
      (request, reply) => {
        const events: ImageEvents = request.path.endsWith('/edits') ? 'image_edit' : 'image_generation';
        reply.writeHead(200, { 'content-type': 'text/event-stream' });
        reply.write(imageEvent(events, 'partial_image', { partial_image_index: 0 }));
      },
    ],
  ];
  for (const [what, isFor, respond] of silences) {
    test(`${what}, has nothing`, async () => {
      const account = await harness.richAccount();
      const affected = kinds.filter(isFor);
      assert.ok(affected.length > 0);
      const responses = await Promise.all(
        affected.map((kind) => harness.send(account, kind.path, requestOf(kind), respond)),
      );
      for (const [index, response] of responses.entries()) {
        const { name } = affected[index]!;
        if (response.status === 200) assert.match(response.text, /"upstream_timeout"/, name);
        else assert.equal(response.status, 504, `${name}: ${response.text}`);
      }
      assert.deepEqual(await account.money(), { balanceNano: TOP_UP_NANO, heldNano: 0n });
      assert.equal((await harness.ledger(account)).length, 1);
      for (const { status, httpStatus, chargeYuan } of await harness.calls(account)) {
        // The response had begun, and was broken off.
        assert.deepEqual([status, chargeYuan], [httpStatus === 200 ? 'aborted' : 'failed', null]);
      }
    });
  }
});
