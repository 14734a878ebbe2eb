import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import type { CallEndpoint, Endpoint, EstimateEndpoint } from '../../src/api/endpoints/endpoint.ts';
import { endpointTable } from '../../src/api/endpoints/table.ts';
import { parseConfig } from '../../src/config/load.ts';
import type { Envelope } from '../../src/errors/envelopes.ts';
import { call } from '../support/client.ts';
import {
  embeddingList,
  type FormPart,
  form,
  type ImageEvents,
  imageEvent,
  imagesResult,
  imageUsage,
  png,
  rerankResult,
  type TypedBody,
} from '../support/endpoints.ts';
import { costNano, startGateway, type TestAccount, type TestGateway, testConfigText } from '../support/gateway.ts';
import {
  chatCompletion,
  chatStream,
  json,
  message,
  messagesStream,
  type ReceivedRequest,
  type Respond,
  sse,
  textCompletion,
  textCompletionStream,
} from '../support/provider.ts';
import { openConnection, type RawResponse, requestBytes } from '../support/raw.ts';
import { compactionResult, responseObject, responsesStream, usageOf } from '../support/responses.ts';
import { propertyRuns } from '../support/scope.ts';

/**
 * Sends damaged requests to every address of the endpoint table. The response must be one that the contract lists, in the format of the
 * address, and never a 5xx. Money may move only for a 200 from the provider, by exactly its price. New rows of the table are tested
 * automatically, or fail if they lack a valid request.
 */

const BODY_BYTES_MAX = 16 * 1024;
const SERVER = 'bodyLimit: 16KiB, editBodyLimit: 20KiB';
const FORM_BYTES_MAX = 20 * 1024;
const table = endpointTable(parseConfig(testConfigText('http://127.0.0.1:1', { server: SERVER }), 'test.yaml', {}));

type Headers = readonly (readonly [name: string, value: string])[];

let g: TestGateway;
let account: TestAccount;

/** The cost of the provider's responses, in order. */
let responded: bigint[] = [];
const CONTINUED = 'resp_0';

describe('damaged requests', () => {
  before(async () => {
    g = await startGateway({ server: SERVER });
    g.provider.respond = responseAll;
    account = await g.createAccount({ balanceYuan: '1000000' });
    // The response that the requests continue. Requests can only refer to responses to their own account.
    g.provider.respond = json(200, responseObject({ id: CONTINUED }));
    const response = await call(`${g.url}/v1/responses`, account.key, { model: 'test-responses', input: 'Hello' });
    assert.equal(response.status, 200, response.text);
    g.provider.respond = responseAll;
  });
  beforeEach(() => {
    responded = [];
  });
  after(() => g?.stop());

  /** A provider that accepts whatever a real one would, and rejects bodies that do not match their content type. */
  const responseAll: Respond = (request, reply) => {
    const { respond, cost } = responseOf(request);
    responded.push(cost);
    return respond(request, reply);
  };

  function responseOf(request: ReceivedRequest): { respond: Respond; cost: bigint } {
    const isForm = request.path.endsWith('/images/edits');
    const body = isForm ? null : JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(request.body));
    const isStream = body === null ? isStreamForm(request) : body.stream === true;
    const either = (stream: readonly string[], whole: object): Respond => (isStream ? sse(stream) : json(200, whole));
    const textCost = costNano({ input: 11, output: 7 });
    switch (request.path.replace(/^\/v1/, '')) {
      case '/chat/completions': {
        const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
        return { respond: either(chatStream(['Hello'], usage), chatCompletion(usage)), cost: textCost };
      }
      case '/messages': {
        const usage = { input_tokens: 11, output_tokens: 7 };
        return { respond: either(messagesStream(['Hello'], usage), message(usage)), cost: textCost };
      }
      case '/responses': {
        const usage = usageOf(11, 7);
        return {
          respond: either(responsesStream({ words: ['Hello'], response: { usage } }), responseObject({ usage })),
          cost: textCost,
        };
      }
      case '/responses/compact':
        return { respond: json(200, compactionResult({ usage: usageOf(11, 7) })), cost: textCost };
      case '/completions':
        return { respond: either(textCompletionStream(['Hello']), textCompletion()), cost: textCost };
      case '/embeddings':
        return { respond: json(200, embeddingList({ prompt_tokens: 5 })), cost: costNano({ input: 5 }) };
      case '/rerank':
        return { respond: json(200, rerankResult({ usage: { total_tokens: 9 } })), cost: costNano({ input: 9 }) };
      case '/images/generations':
      case '/images/edits': {
        const kind: ImageEvents = isForm ? 'image_edit' : 'image_generation';
        const facts = { usage: imageUsage({ text: 2, image: 3 }, 5), quality: 'low' };
        return {
          respond: either([imageEvent(kind, 'completed', facts)], imagesResult(1, facts)),
          // By tokens if the model is the provider's "painter", by image if it is gpt-image-2.
          cost: request.body.includes('painter') ? BigInt(2 * 3000 + 3 * 17_000 + 5 * 19_000) : 23_000n,
        };
      }
      default:
        throw new Error(`the gateway does not call ${request.path}`);
    }
  }

  /** Whether the form's `stream` part is true. */
  function isStreamForm({ body, headers }: ReceivedRequest): boolean {
    const boundary = /boundary="?([^";]+)/.exec(headers['content-type'] ?? '')![1]!;
    return body
      .toString('latin1')
      .split(`--${boundary}`)
      .some((part) => /name="?stream"?(;.*)?\r\n(.+\r\n)*\r\ntrue\r\n$/.test(part));
  }

  type PostEndpoint = CallEndpoint | EstimateEndpoint;

  const userText = [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }];
  const userInput = [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
    { type: 'compaction', id: 'cmp_1', encrypted_content: 'b3BhcXVl' },
  ];
  const tool = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };

  /** Successful requests with all fields that the gateway reads, by operation. */
  const jsonBodies: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    chat: {
      model: 'test-chat',
      messages: userText,
      stream: false,
      stream_options: null,
      max_tokens: 16,
      max_completion_tokens: 16,
      n: 1,
    },
    messages: { model: 'test-messages', max_tokens: 16, messages: userText, stream: false },
    completions: { model: 'test-completions', prompt: ['Hello', 'there'], suffix: '.', max_tokens: 16, n: 1 },
    embeddings: { model: 'test-embeddings', input: ['Hello', 'there'], encoding_format: 'float' },
    rerank: { model: 'test-rerank', query: 'Hello', documents: ['one', { text: 'two' }], top_n: 1 },
    responses: {
      model: 'test-responses',
      input: userInput,
      stream: false,
      background: false,
      max_output_tokens: 16,
      previous_response_id: CONTINUED,
    },
    compact: {
      model: 'test-responses',
      input: userInput,
      instructions: 'Be short.',
      previous_response_id: CONTINUED,
      prompt_cache_key: 'key',
      prompt_cache_options: { mode: 'implicit', ttl: '30m' },
      prompt_cache_retention: '24h',
      service_tier: 'auto',
    },
    'images.generate': {
      model: 'gpt-image-2',
      prompt: 'A cat.',
      n: 1,
      size: '1024x1024',
      quality: 'low',
      background: 'opaque',
      moderation: 'auto',
      output_format: 'webp',
      output_compression: 50,
      partial_images: null,
      stream: false,
      style: null,
      user: 'me',
    },
    'estimate of responses': {
      model: 'test-responses',
      input: userInput.slice(0, 1),
      instructions: 'Be short.',
      reasoning: { effort: 'low' },
      text: { format: { type: 'text' } },
      tools: [tool],
    },
    'estimate of messages': {
      model: 'test-messages',
      system: 'Be short.',
      messages: userText,
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
    },
  };

  const PICTURE = png(8, 8);
  const formParts: readonly FormPart[] = [
    ['model', 'gpt-image-2'],
    ['prompt', 'A cat.'],
    ['image[]', PICTURE, 'one.png'],
    ['image[]', PICTURE, 'two.png'],
    ['mask', PICTURE, 'mask.png'],
    ['n', '1'],
    ['size', '1024x1024'],
    ['quality', 'low'],
    ['background', 'opaque'],
    ['output_format', 'webp'],
    ['output_compression', '50'],
    ['stream', 'false'],
    ['user', 'me'],
    ['something_new', 'passes'],
  ];

  const isUpload = (endpoint: PostEndpoint): boolean => 'operation' in endpoint && 'receive' in endpoint.operation;

  function nameOf(endpoint: PostEndpoint): string {
    return 'operation' in endpoint ? endpoint.operation.name : `estimate of ${endpoint.estimate.kind}`;
  }

  function validBody(endpoint: PostEndpoint): TypedBody {
    if (isUpload(endpoint)) return form(formParts);
    return { contentType: 'application/json', body: Buffer.from(JSON.stringify(jsonBodies[nameOf(endpoint)])) };
  }

  /** A path within a JSON value: keys and indexes. */
  type Place = readonly (string | number)[];

  function placesIn(value: unknown, place: Place = []): Place[] {
    if (typeof value !== 'object' || value === null) return [place];
    return [place, ...Object.entries(value).flatMap(([key, inside]) => placesIn(inside, [...place, key]))];
  }

  /** A copy with another value at a path; `undefined` removes the value. */
  function replacedAt(value: unknown, [key, ...rest]: Place, next: unknown): unknown {
    if (key === undefined) return next;
    const copy: Record<string, unknown> = Array.isArray(value)
      ? ([...value] as unknown as Record<string, unknown>)
      : { ...(value as Record<string, unknown>) };
    copy[key] = replacedAt(copy[key], rest, next);
    return copy;
  }

  /** Values that some parser misinterprets, and range limits. */
  const oddValues = fc.constantFrom<unknown>(
    null,
    undefined,
    '',
    ' ',
    'true',
    '1',
    0,
    1,
    -1,
    1.5,
    10,
    11,
    2 ** 31,
    2 ** 53,
    true,
    false,
    [],
    {},
    [null],
    [[]],
    'test-chat',
    'test-messages',
    'test-both',
    'test-images',
    'test-unrouted',
    'test-hidden',
    'dall-e-2',
    '__proto__',
    'constructor',
    '\ud800',
    'x'.repeat(65),
  );
  const anyValue = fc.oneof(oddValues, fc.jsonValue());

  /** Members as text, for numbers and nesting that values cannot express, some of which are invalid JSON. */
  const oddTexts = fc.oneof(
    fc.constantFrom('1e999', '-0', '1E0', '01', '+1', 'NaN', '"\\x"', '"\\ud800"', '{"a":1,"a":2}', "'a'", '1 2', ''),
    fc.constantFrom('"\u0000"', '/**/1', '\ufeff1', '"\u2028"'),
    fc.nat(3_000).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
    fc.nat(1_000).map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
    fc.nat(3_000).map((depth) => '['.repeat(depth)),
  );

  const share = fc.double({ min: 0, max: 1, noNaN: true });

  /** Damage to bytes, regardless of their meaning. */
  function damaged(valid: Buffer): fc.Arbitrary<Buffer> {
    const offset = share.map((part) => Math.floor(part * (valid.length - 1)));
    return fc.oneof(
      offset.map((end) => valid.subarray(0, end)),
      fc
        .tuple(offset, fc.uint8Array({ minLength: 1, maxLength: 8 }))
        .map(([at, bytes]) => Buffer.concat([valid.subarray(0, at), bytes, valid.subarray(at)])),
      fc.tuple(offset, fc.integer({ min: 1, max: 255 })).map(([at, mask]) => {
        const bytes = Buffer.from(valid);
        bytes[at]! ^= mask;
        return bytes;
      }),
      fc.tuple(offset, offset).map(([from, to]) => Buffer.concat([valid.subarray(0, from), valid.subarray(to)])),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc.constant(Buffer.concat([valid, valid])),
    );
  }

  function jsonBodiesLike(body: Readonly<Record<string, unknown>>): fc.Arbitrary<Buffer> {
    const valid = JSON.stringify(body);
    const places = placesIn(body).slice(1);
    const place = fc.constantFrom(...places);
    const key = fc.constantFrom(...Object.keys(body), 'conversation', 'prompt', 'stream', 'partial_images');
    const joined = (name: string, text: string): string => `{${JSON.stringify(name)}:${text},${valid.slice(1)}`;
    return fc
      .oneof(
        {
          weight: 4,
          arbitrary: fc.tuple(place, anyValue).map(([at, value]) => JSON.stringify(replacedAt(body, at, value))),
        },
        fc
          .tuple(place, place, anyValue)
          .map(([one, other, value]) => JSON.stringify(replacedAt(replacedAt(body, one, value), other, undefined))),
        fc.tuple(key, oddTexts).map(([name, text]) => joined(name, text)),
        fc.tuple(key, oddTexts).map(([name, text]) => `{${JSON.stringify(name)}:${text}}`),
        fc.tuple(key, fc.jsonValue()).map(([name, value]) => joined(name, JSON.stringify(value))),
        fc
          .integer({ min: -2, max: 2 })
          .map((over) => valid + ' '.repeat(BODY_BYTES_MAX + over - Buffer.byteLength(valid))),
        fc.jsonValue().map((value) => JSON.stringify(value)),
        fc.constantFrom(`\ufeff${valid}`, valid.replaceAll('"', "'"), valid.replace('Hello', 'H\u00e9llo')),
        fc
          .constantFrom('utf16le', 'latin1', 'base64')
          .map((encoding) =>
            encoding === 'base64'
              ? Buffer.from(Buffer.from(valid).toString('base64'))
              : Buffer.from(valid.replace('Hello', 'H\u00e9llo'), encoding as BufferEncoding),
          ),
        { weight: 3, arbitrary: damaged(Buffer.from(valid)) },
      )
      .map((bytes) => Buffer.from(bytes as Buffer));
  }

  const oddPartValues = fc.constantFrom<string | Buffer>(
    '',
    ' ',
    '0',
    '1',
    '01',
    '1.0',
    '11',
    '-1',
    'true',
    'TRUE',
    'null',
    'auto',
    'test-images',
    'test-chat',
    'nobody',
    '2000x2000',
    'x'.repeat(1_000),
    Buffer.from([0xff, 0xfe, 0x41]),
    Buffer.alloc(0),
    PICTURE,
    PICTURE.subarray(0, 20),
    png(9, 8),
    Buffer.from('GIF89a'),
    Buffer.from('\r\n--form-4f2c9a71d0\r\n'),
  );

  /** Forms with wrong, missing, duplicate, renamed and unknown parts, and damaged bytes. */
  const anyForm: fc.Arbitrary<Buffer> = (() => {
    const index = fc.nat(formParts.length - 1);
    const name = fc.constantFrom(
      ...formParts.map(([each]) => each),
      'image',
      'partial_images',
      'input_fidelity',
      'response_format',
      '',
      'a"b',
      'x'.repeat(300),
    );
    const without = (at: number): FormPart[] => formParts.filter((_, i) => i !== at);
    const valid = form(formParts).body;
    const text = valid.toString('latin1');
    return fc.oneof(
      index.map((at) => form(without(at)).body),
      {
        weight: 3,
        arbitrary: fc.tuple(name, oddPartValues).map(([part, value]) => form([...formParts, [part, value]]).body),
      },
      {
        weight: 3,
        arbitrary: fc
          .tuple(index, oddPartValues, fc.option(fc.string({ maxLength: 5 }), { nil: undefined }))
          .map(([at, value, filename]) => {
            const [part] = formParts[at]!;
            const changed: FormPart = filename === undefined ? [part, value] : [part, value, filename];
            return form(formParts.map((each, i) => (i === at ? changed : each))).body;
          }),
      },
      fc.tuple(index, name).map(([at, part]) => {
        const [, ...rest] = formParts[at]!;
        return form(formParts.map((each, i): FormPart => (i === at ? [part, ...rest] : each))).body;
      }),
      fc.integer({ min: 0, max: 20 }).map((count) => {
        const images = Array.from({ length: count }, (_, i): FormPart => ['image[]', PICTURE, `${i}.png`]);
        return form([...images, ['prompt', 'A cat.'], ['model', 'gpt-image-2']]).body;
      }),
      fc.integer({ min: -2, max: 2 }).map((over) => {
        const padding = FORM_BYTES_MAX + over - form([...formParts, ['padding', '']]).body.length;
        return form([...formParts, ['padding', 'x'.repeat(padding)]]).body;
      }),
      fc
        .constantFrom(
          text.replaceAll('\r\n', '\n'),
          text.replace('form-data', 'attachment'),
          text.replace('Content-Disposition: form-data; name="model"', 'X-Nothing: here'),
          text.replace('name="model"', 'name=model'),
          text.replace('name="model"', 'name="model"; name="prompt"'),
          text.replace('name="model"', `name="model"; x="${'y'.repeat(20_000)}"`),
          text.replace('; name="model"', ''),
          text.slice(0, -4),
          text.slice(text.indexOf('\r\n')),
          `preamble\r\n${text}epilogue`,
          '--form-4f2c9a71d0--\r\n',
        )
        .map((changed) => Buffer.from(changed, 'latin1')),
      { weight: 3, arbitrary: damaged(valid) },
    );
  })();

  /** The usual value nine times out of ten, so that most requests have only one error. */
  function mostly<Value>(usual: Value, others: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
    return fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: others });
  }

  const headerText = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  });

  const encoders: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
    gzip: (bytes) => gzipSync(bytes),
    deflate: (bytes) => deflateSync(bytes),
    br: (bytes) => brotliCompressSync(bytes),
    zstd: (bytes) => zstdCompressSync(bytes),
    identity: (bytes) => bytes,
  };
  const encodingName = fc.constantFrom(...Object.keys(encoders));

  /** Header lines that a proxy, a faulty client or an attacker may send. */
  const oddHeaders: fc.Arbitrary<Headers> = fc.constantFrom<Headers>(
    [['expect', '100-continue']],
    [['expect', 'something-else']],
    [['x-api-key', 'fg_nothing']],
    [['content-length', '-5']],
    [['transfer-encoding', 'gzip']],
    [['x-junk', '\u0001']],
    [['x junk', 'a']],
    [['x-junk', 'y'.repeat(70 * 1024)]],
    [['connection', 'close']],
    [['connection', 'authorization, content-type']],
    [['accept', 'image/webp']],
    [['accept-encoding', 'gzip;q=2']],
    [['cookie', 'a=b'.repeat(1_000)]],
    [['upgrade', 'websocket']],
    [['host', 'other.test']],
    [['if-none-match', '*']],
    [['range', 'bytes=0-1']],
    [['content-type', 'text/plain']],
  );

  const anyCredential = mostly<string | null>(
    'Bearer <key>',
    fc.oneof(
      fc.constantFrom<string | null>(null, '<key>', 'bearer  <key>', 'Basic <key>', 'Bearer', 'Bearer <key>, <key>'),
      headerText,
    ),
  );

  /** How the body is framed. `short` and `long` declare a wrong length. */
  const anyFraming = mostly<{ readonly kind: 'true' | 'chunked' | 'short' | 'long'; readonly by: number }>(
    { kind: 'true', by: 0 },
    fc.record({ kind: fc.constantFrom('chunked', 'short', 'long'), by: fc.integer({ min: 1, max: 3_000 }) }),
  );

  interface Damaged {
    readonly body: Buffer;
    readonly type: string;
    /** What is declared and what is sent. */
    readonly encoding: readonly [stated: string, done: string] | null;
    readonly credential: string | null;
    readonly framing: { readonly kind: 'true' | 'chunked' | 'short' | 'long'; readonly by: number };
    readonly more: Headers;
  }

  function requestsLike(endpoint: PostEndpoint): fc.Arbitrary<Damaged> {
    const { contentType, body } = validBody(endpoint);
    const anyBody = isUpload(endpoint) ? anyForm : jsonBodiesLike(jsonBodies[nameOf(endpoint)]!);
    const types = fc.oneof(
      headerText,
      fc.constantFrom(
        'application/json; charset=utf-16',
        'APPLICATION/JSON;charset=UTF-8',
        'application/x-www-form-urlencoded',
        'multipart/form-data',
        'multipart/form-data; boundary=',
        'multipart/form-data; boundary="form-4f2c9a71d0"',
        `multipart/form-data; boundary=${'x'.repeat(100)}`,
        'multipart/mixed; boundary=form-4f2c9a71d0',
      ),
    );
    return fc.record({
      body: fc.oneof({ weight: 1, arbitrary: fc.constant(body) }, { weight: 4, arbitrary: anyBody }),
      type: mostly(contentType, types),
      encoding: mostly<readonly [string, string] | null>(
        null,
        fc.oneof(
          encodingName.map((name) => [name, name] as const),
          fc.tuple(fc.oneof(encodingName, headerText), encodingName),
        ),
      ),
      credential: anyCredential,
      framing: anyFraming,
      more: mostly<Headers>([], oddHeaders),
    });
  }

  /** Possible refusals of a damaged request, by the contract's table of errors. */
  const REFUSALS = [400, 401, 404, 413, 415, 426, 431];

  /** The response of coding endpoints to every valid request of an account without a plan. */
  function moneyStatusOf(endpoint: Endpoint): number | null {
    return 'operation' in endpoint && endpoint.context === 'coding' ? endpoint.moneyStatus : null;
  }

  function assertEnvelope({ status, headers, body }: RawResponse, envelope: Envelope['name']): void {
    const shown = `${status} ${JSON.stringify(headers)} ${body.subarray(0, 500)}`;
    assert.match(headers['content-type'] ?? '', /^application\/json\b/, shown);
    assert.match(headers['request-id'] ?? '', /^req_[0-9a-z]{26}$/, shown);
    assert.equal(headers['x-request-id'], headers['request-id'], shown);
    const code = headers['x-error-code'];
    assert.ok(code !== undefined && code !== '', shown);
    const value = JSON.parse(body.toString());
    const keys = (object: object): string => Object.keys(object).sort().join();
    switch (envelope) {
      case 'messages':
        assert.equal(keys(value), 'error,request_id,type', shown);
        assert.equal(keys(value.error), 'details,message,type', shown);
        assert.deepEqual([value.type, value.request_id], ['error', headers['request-id']], shown);
        assert.deepEqual(value.error.details, { error_code: code }, shown);
        break;
      case 'catalog':
        assert.equal(keys(value), 'code,message,success,timestamp', shown);
        assert.equal(value.success, false, shown);
        break;
      case 'cohere':
        assert.deepEqual(Object.keys(value).sort(), ['id', 'message'], shown);
        assert.equal(value.id, headers['request-id'], shown);
        break;
      default:
        assert.equal(keys(value), 'error', shown);
        assert.equal(keys(value.error), envelope === 'chat' ? 'code,message,param,type' : 'code,message,type', shown);
        assert.equal(value.error.code, code, shown);
    }
    const isFlat = envelope === 'catalog' || envelope === 'cohere';
    const { message, type } = isFlat ? { message: value.message, type: 'x' } : value.error;
    assert.ok(typeof message === 'string' && message !== '' && message.length < 1_000, shown);
    assert.ok(typeof type === 'string' && type !== '', shown);
  }

  /** Money, reservations and calls in the database. */
  async function storedState() {
    const [sums] = await g.database.query<{
      balance: bigint;
      reserved: bigint;
      entries: bigint;
      reservations: bigint;
      calls: bigint;
    }>({
      name: 'test.stored-state',
      text: `select (select sum(balance_nano) from balances)::bigint as balance,
  (select sum(reserved_nano) from balances)::bigint as reserved, (select count(*) from ledger_entries) as entries,
  (select count(*) from reservations) as reservations, (select count(*) from calls) as calls`,
    });
    return { ...sums!, providerCalls: g.provider.requests.length };
  }

  type StoredState = Awaited<ReturnType<typeof storedState>>;

  async function assertNothingHappened(was: StoredState, shown: string): Promise<void> {
    assert.deepEqual(await storedState(), was, shown);
  }

  async function assertCharged(was: StoredState, shown: string): Promise<void> {
    const { balance, entries, calls, providerCalls } = was;
    const cost = responded.at(-1)!;
    assert.deepEqual(
      await storedState(),
      {
        ...was,
        balance: balance - cost,
        entries: entries + 1n,
        calls: calls + 1n,
        providerCalls: providerCalls + 1,
      },
      shown,
    );
  }

  function headersOf({ type, encoding, credential, more }: Damaged): Headers {
    return [
      ...(credential === null ? [] : [['authorization', credential.replaceAll('<key>', account.key)] as const]),
      ['content-type', type],
      ...(encoding === null ? [] : [['content-encoding', encoding[0]] as const]),
      ...more,
    ];
  }

  /** Sends the request and returns the response, without interim responses. */
  async function send(path: string, damagedRequest: Damaged): Promise<RawResponse> {
    const { encoding, framing } = damagedRequest;
    const body = encoding === null ? damagedRequest.body : encoders[encoding[1]]!(damagedRequest.body);
    const headers = headersOf(damagedRequest);
    const { kind, by } = framing;
    const stated = kind === 'short' ? Math.max(0, body.length - by) : body.length + by;
    const connection = await openConnection(g.url);
    try {
      connection.write(
        requestBytes(
          kind === 'chunked'
            ? { path, headers, body, chunkBytes: by }
            : kind === 'true'
              ? { path, headers, body }
              : { path, headers: [...headers, ['content-length', String(stated)]], body },
        ),
      );
      // More was announced, but nothing more will be sent.
      if (kind === 'long') connection.halfClose();
      for (;;) {
        const response = await connection.response();
        if (response.status >= 200) return response;
      }
    } finally {
      connection.destroy();
    }
  }

  for (const endpoint of table) {
    const { path, envelope } = endpoint;
    if (endpoint.method === 'GET') continue;

    describe(`POST ${path}`, { timeout: 120_000 }, () => {
      const moneyStatus = moneyStatusOf(endpoint);
      const isCharged = 'operation' in endpoint && moneyStatus === null;

      test('accepts the request from which damaged ones are derived', async () => {
        const { contentType, body } = validBody(endpoint);
        const was = await storedState();
        const response = await send(path, {
          body,
          type: contentType,
          encoding: null,
          credential: 'Bearer <key>',
          framing: { kind: 'true', by: 0 },
          more: [],
        });
        assert.equal(response.status, moneyStatus ?? 200, response.body.toString());
        if (isCharged) await assertCharged(was, 'the valid request');
        else await assertNothingHappened(was, 'the valid request');
      });

      test('responds to any damaged request as the contract specifies, and charges only successes', async () => {
        await fc.assert(
          fc.asyncProperty(requestsLike(endpoint), async (request) => {
            const was = await storedState();
            const response = await send(path, request);
            const shown = `${response.status} ${JSON.stringify(response.headers)} ${response.body.subarray(0, 500)}`;
            if (response.status === 200) {
              assert.equal(moneyStatus, null, shown);
              if (isCharged) await assertCharged(was, shown);
              else await assertNothingHappened(was, shown);
              return;
            }
            // The damaged request may name another model, which has no route.
            const isUnrouted = response.headers['x-error-code'] === 'MODEL_ROUTING_NOT_CONFIGURED';
            assert.ok([...REFUSALS, moneyStatus, isUnrouted ? 503 : null].includes(response.status), shown);
            // Headers that arrive in several chunks are rejected by a parser that no longer has the request line.
            assertEnvelope(response, response.status === 431 ? 'chat' : envelope.name);
            if (!isUnrouted) assert.equal(response.headers['x-should-retry'], 'false', shown);
            await assertNothingHappened(was, shown);
          }),
          { numRuns: propertyRuns(70) },
        );
      });
    });
  }

  describe('bytes after a request', { timeout: 60_000 }, () => {
    const valid = Buffer.from(JSON.stringify(jsonBodies.chat));
    for (const [what, behind] of [
      ['noise', Buffer.from([0xff, 0xfe, 0x0d, 0x0a])],
      ['excess bytes of a body that is longer than announced', Buffer.from('  \n}')],
      ['an unknown method', Buffer.from('BREW / HTTP/1.1\r\n\r\n')],
    ] as const) {
      test(`such as ${what}, never receive a response in its place, and close the connection`, async () => {
        const was = await storedState();
        const connection = await openConnection(g.url);
        const headers = [
          ['authorization', `Bearer ${account.key}`],
          ['content-type', 'application/json'],
        ] as const;
        const request = requestBytes({ path: '/v1/chat/completions', headers, body: valid });
        connection.write(Buffer.concat([request, behind]));
        const response = await connection.response();
        assert.equal(response.status, 200, response.body.toString());
        assert.equal(response.headers.connection, 'close');
        assert.equal((await connection.closed()).length, 0);
        await assertCharged(was, 'the request in front');
      });
    }
  });

  describe('any address that is read', { timeout: 120_000 }, () => {
    const suffix = fc.oneof(
      fc.constantFrom('/', '//', '?a=b', '?', '#x', '/..', '/../..', '/%2e%2e/', '%00', '%zz', '%', ';a=b', '/x', '/*'),
      fc.constantFrom('%F0%9F%98%80', '%ff', '/__proto__', '?a[]=1&a[b]=2', '%2f', `/${'y'.repeat(600)}`),
      fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)), maxLength: 12 }),
    );
    const readable = table.filter(({ method }) => method === 'GET');
    const anyRequest = (endpoint: Endpoint) =>
      fc.record({
        method: mostly(
          'GET',
          fc.constantFrom('HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'),
        ),
        path: fc
          .tuple(
            fc.constantFrom(
              'test-chat',
              'test-messages',
              'test-chat-latest',
              'nothing',
              '%00',
              '..',
              'a%2fb',
              'y'.repeat(600),
            ),
            fc.oneof({ weight: 1, arbitrary: fc.constant('') }, { weight: 2, arbitrary: suffix }),
          )
          .map(([model, end]) => endpoint.path.replace(':model', model) + end),
        credential: anyCredential,
        more: fc.oneof(fc.constant<Headers>([]), oddHeaders),
        body: fc.option(
          fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
          { freq: 3 },
        ),
      });

    test('is in the endpoint table', () => {
      assert.ok(readable.length > 15, `${readable.length} addresses`);
    });

    for (const endpoint of readable) {
      test(`GET ${endpoint.path} responds to any request without a call, a charge or an internal error`, async () => {
        await fc.assert(
          fc.asyncProperty(anyRequest(endpoint), async ({ method, path, credential, more, body }) => {
            const was = await storedState();
            const connection = await openConnection(g.url);
            try {
              const headers = [
                ...(credential === null
                  ? []
                  : [['authorization', credential.replaceAll('<key>', account.key)] as const]),
                ...more,
              ];
              connection.write(requestBytes({ method, path, headers, ...(body === null ? {} : { body }) }));
              let response = await connection.response(method);
              while (response.status < 200) response = await connection.response(method);
              const shown = `${response.status} ${JSON.stringify(response.headers)} ${response.body.subarray(0, 500)}`;
              assert.ok([200, 304, 400, 401, 404, 405, 426, 431].includes(response.status), shown);
              assert.match(response.headers['request-id'] ?? '', /^req_[0-9a-z]{26}$/, shown);
              // A neighboring address may have another error format; it only matters that it has one.
              if (response.status >= 400 && response.body.length > 0) assertSomeEnvelope(response);
              await assertNothingHappened(was, shown);
            } finally {
              connection.destroy();
            }
          }),
          { numRuns: propertyRuns(35) },
        );
      });
    }

    function assertSomeEnvelope(response: RawResponse): void {
      const value = JSON.parse(response.body.toString());
      if (value.success === false) assertEnvelope(response, 'catalog');
      else if (value.type === 'error') assertEnvelope(response, 'messages');
      else if (value.error === undefined) assertEnvelope(response, 'cohere');
      else assertEnvelope(response, 'param' in value.error ? 'chat' : 'usage');
    }
  });

  test('afterwards, the gateway works and passes the audit', async () => {
    assert.equal((await fetch(`${g.url}/readyz`)).status, 200);
    const { reserved, reservations } = await storedState();
    assert.deepEqual([reserved, reservations], [0n, 0n]);
  });
});
