import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { LLMock } from '@copilotkit/aimock';
import OpenAI from 'openai';
import { type ErrorKind, errorCatalogue } from '../../src/errors/catalogue.ts';
import { GatewayError } from '../../src/errors/gateway-error.ts';
import { renderChat } from '../../src/protocols/chat/errors.ts';
import { renderMessages } from '../../src/protocols/messages/errors.ts';
import { typedStreamError } from '../../src/protocols/responses/errors.ts';
import { call } from '../support/client.ts';
import { IMAGE_TEXT, imageEvent, imageUsage } from '../support/endpoints.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { sse } from '../support/provider.ts';
import { responseObject, responsesStream, usageOf } from '../support/responses.ts';

/**
 * Compares responses with the types in the vendors' SDKs. Responses of a running gateway are written as literals into a module that
 * declares a vendor's type for each, and the module is compiled: a missing member, a wrong kind of value or an unknown enumeration value
 * is a compile error that names the response.
 *
 * It proves, for responses of the gateway itself (lists, details, estimates, all error envelopes, its event in a broken stream) and for
 * those relayed from a third-party simulator, that all declared members exist with the declared types; that the SDKs accept the same
 * responses at run time; and, by controls, that the compiler rejects wrong ones.
 *
 * It does not prove ranges, formats and lengths, which these types do not express; members beyond the declared ones, which the types
 * allow; and the correctness of provider responses, which are relayed unchanged. The vendors' OpenAPI documents would specify more, but
 * no package here contains them.
 *
 * Known differences, each declared with the actual type:
 * - A model detail of the messages protocol has the seven members of the contract (2.6), without the vendor's four newer ones.
 * - The error event in a broken responses stream has no `sequence_number`, because the gateway does not count the provider's events.
 * - Messages errors with status 409 and 413 have the types `conflict_error` and `request_too_large`, which the vendor's documents list
 *   and its SDK type lacks.
 * - The simulator omits members of responses and messages that the gateway does not read: a response is compared by its existing members,
 *   a message not at all.
 */

/** A value and its expected vendor type, in TypeScript with the namespaces `OpenAI` and `Anthropic`. */
interface Claim {
  readonly what: string;
  readonly type: string;
  readonly value: unknown;
}

const resolve = createRequire(import.meta.url).resolve;
const tscPath = join(dirname(resolve('typescript/package.json')), 'bin', 'tsc');

/** The module with the claims. `check` infers its argument, so that additional members are no error. */
function moduleOf(claims: readonly Claim[]): string {
  const sdk = (name: string): string => JSON.stringify(new URL(import.meta.resolve(name)).pathname);
  return [
    `import type OpenAI from ${sdk('openai')};`,
    `import type Anthropic from ${sdk('@anthropic-ai/sdk')};`,
    'declare function check<Type>(what: string): <Value extends Type>(value: Value) => void;',
    // One line each, so that the line number of a compile error identifies the claim.
    ...claims.map(({ what, type, value }) => `check<${type}>(${JSON.stringify(what)})(${JSON.stringify(value)});`),
  ].join('\n');
}
const LINES_BEFORE = 3;

/** Compiles the claims; returns the false ones with the compiler's messages. */
async function refuted(claims: readonly Claim[]): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'faregate-types-'));
  try {
    const file = join(directory, 'claims.mts');
    writeFileSync(file, moduleOf(claims));
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--pretty', 'false'];
    const environment = ['--module', 'nodenext', '--target', 'es2024', '--lib', 'es2024,dom,dom.iterable'];
    const output = await new Promise<string>((resolveOutput) => {
      execFile(process.execPath, [tscPath, ...options, ...environment, '--types', '', file], (_error, stdout) =>
        resolveOutput(stdout),
      );
    });
    const found = [...output.matchAll(/claims\.mts\((\d+),\d+\): error (.*)/g)];
    if (output.trim() !== '' && found.length === 0) throw new Error(output);
    return found.map(([, line, message]) => {
      const claim = claims[Number(line) - LINES_BEFORE - 1];
      return `${claim?.what ?? 'the module itself'}: ${message}`;
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const assertHold = async (claims: readonly Claim[]): Promise<void> => assert.deepEqual(await refuted(claims), []);

const CONTRACT_DETAIL = "Omit<Anthropic.ModelInfo, 'deprecated_at' | 'lifecycle' | 'line' | 'retires_at'>";
const STREAM_ERROR = "Omit<OpenAI.Responses.ResponseErrorEvent, 'sequence_number'>";
/** Types of messages errors that the vendor documents but does not declare, by status. */
const UNDECLARED_TYPES: Readonly<Record<number, string>> = { 409: 'conflict_error', 413: 'request_too_large' };
const kinds = Object.keys(errorCatalogue) as ErrorKind[];

describe('what the gateway responds has the vendors’ types', { timeout: 300_000 }, () => {
  const simulator = new LLMock({ port: 0, host: '127.0.0.1', journalMaxEntries: 1 });
  let gateway: TestGateway;
  let account: TestAccount;
  let openai: OpenAI;
  let anthropic: Anthropic;

  before(async () => {
    simulator.onEmbedding(/[\s\S]*/, { embedding: [0.5, -0.25, 1] });
    simulator.onImage(/[\s\S]*/, { image: { b64Json: IMAGE_TEXT } });
    simulator.onMessage(/[\s\S]*/, { content: 'Hello there' });
    await simulator.start();
    const price = '{ input: "3", output: "13" }';
    gateway = await startGateway({
      providers: `
  simulated: { protocol: chat, baseUrl: "${simulator.baseUrl}/v1", apiKey: provider-secret-key-3, missingUsage: estimate }
  simulatedMessages: { protocol: messages, vendor: anthropic, baseUrl: "${simulator.baseUrl}", apiKey: provider-secret-key-4, missingUsage: estimate }
`,
      models: `
  sim-text:
    contextLength: "200000"
    operations: [chat, responses, embeddings, messages]
    price: ${price}
    routes: [{ provider: simulated, model: gpt-4o }, { provider: simulatedMessages, model: claude }]
  sim-images:
    operations: [images.generate]
    price: { perImage: "0.000023" }
    routes: [{ provider: simulated, model: gpt-image-1 }]
`,
    });
    account = await gateway.createAccount();
    openai = new OpenAI({ apiKey: account.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    anthropic = new Anthropic({ apiKey: account.key, baseURL: `${gateway.url}/altproto`, maxRetries: 0 });
  });
  after(async () => {
    await gateway?.stop();
    await simulator.stop();
  });

  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  const read = async (path: string): Promise<any> => {
    const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${account.key}` } });
    return response.json();
  };
  const post = async (path: string, body: object) => (await call(gateway.url + path, account.key, body)).json;
  /** The data of each event of a stream, without chat's final `[DONE]`. */
  const streamed = async (path: string, body: object): Promise<unknown[]> => {
    const { text } = await call(gateway.url + path, account.key, { ...body, stream: true });
    return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!));
  };

  test('and the compiler rejects other values', async () => {
    const model = { id: 'a', object: 'model', created: 0, owned_by: 'b' };
    const claims: Claim[] = [
      { what: 'a right one', type: 'OpenAI.Model', value: model },
      { what: 'a missing field', type: 'OpenAI.Model', value: { ...model, owned_by: undefined } },
      { what: 'a wrong kind', type: 'OpenAI.Model', value: { ...model, created: '0' } },
      { what: 'another word', type: 'OpenAI.Model', value: { ...model, object: 'models' } },
      {
        what: 'deep inside',
        type: 'OpenAI.Responses.Response',
        value: { ...responseObject({ usage: null }), tools: [{ type: 'x' }] },
      },
      { what: 'of the other vendor', type: 'Anthropic.MessageTokensCount', value: { input_tokens: '1' } },
    ];
    const objections = await refuted(claims);
    for (const { what } of claims.slice(1))
      assert.ok(
        objections.some((each) => each.startsWith(what)),
        what,
      );
    assert.ok(!objections.some((each) => /^(a right one|the module)/.test(each)), objections.join('\n'));
  });

  test('in lists and details of models', async () => {
    const shared = await read('/v1/models');
    const own = await read('/altproto/v1/models');
    assert.ok(shared.data.length > 5 && own.data.length > 1);
    await assertHold([
      { what: 'the shared list', type: "{ object: 'list'; data: OpenAI.Model[] }", value: shared },
      { what: 'a shared detail', type: 'OpenAI.Model', value: await read('/v1/models/test-chat-latest') },
      {
        what: 'the list of the messages protocol',
        type: `{ data: ${CONTRACT_DETAIL}[]; has_more: boolean; first_id: string | null; last_id: string | null }`,
        value: own,
      },
      {
        what: 'an empty list',
        type: '{ data: []; first_id: null; last_id: null }',
        value: await read('/altproto/coding/v1/models'),
      },
      {
        what: 'a detail with its limits unknown',
        type: CONTRACT_DETAIL,
        value: await read('/altproto/v1/models/test-both'),
      },
      { what: 'a detail with its limits', type: CONTRACT_DETAIL, value: await read('/altproto/v1/models/sim-text') },
    ]);
    assert.equal((await openai.models.retrieve('sim-text')).id, 'sim-text');
    assert.equal((await anthropic.models.retrieve('sim-text')).max_input_tokens, 200_000);
  });

  test('in estimates', async () => {
    const counted = await post('/v1/responses/input_tokens', { model: 'test-responses', input: 'Hi' });
    const counts = await post('/v1/messages/count_tokens', {
      model: 'test-messages',
      messages: [{ role: 'user', content: 'Hi' }],
    });
    await assertHold([
      { what: 'of responses', type: 'OpenAI.Responses.InputTokenCountResponse', value: counted },
      { what: 'of messages', type: 'Anthropic.MessageTokensCount', value: counts },
    ]);
    assert.ok((await openai.responses.inputTokens.count({ model: 'test-responses', input: 'Hi' })).input_tokens > 0);
  });

  test('in all errors, non-streaming and inside a stream', async () => {
    const claims = kinds.flatMap((kind): Claim[] => {
      const error = new GatewayError(kind);
      const [, data] = /data: (.*)\n/.exec(typedStreamError(error, 'req_1'))!;
      const undeclared = UNDECLARED_TYPES[errorCatalogue[kind].status];
      return [
        { what: `chat ${kind}`, type: '{ error: OpenAI.ErrorObject }', value: renderChat(error) },
        {
          what: `messages ${kind}`,
          type:
            undeclared === undefined
              ? 'Anthropic.ErrorResponse'
              : `Omit<Anthropic.ErrorResponse, 'error'> & { error: { message: string; type: '${undeclared}' } }`,
          value: renderMessages(error, 'req_1'),
        },
        { what: `typed ${kind}`, type: STREAM_ERROR, value: JSON.parse(data!) },
      ];
    });
    assert.ok(claims.length > 60, String(claims.length));
    await assertHold([
      ...claims,
      // As received, not only as created.
      { what: 'a chat error', type: '{ error: OpenAI.ErrorObject }', value: await post('/v1/responses', {}) },
      { what: 'a messages error', type: 'Anthropic.ErrorResponse', value: await post('/v1/messages', {}) },
    ]);
  });

  test('if it relays a simulator of the vendors, non-streaming and in streams', async () => {
    const chat = { model: 'sim-text', messages: [{ role: 'user', content: 'Hi' }] };
    const responses = { model: 'sim-text', input: 'Hi' };
    const each = (what: string, type: string, events: readonly unknown[]): Claim[] => {
      assert.ok(events.length > 2, `${what}: ${events.length}`);
      return events.map((value, index) => ({ what: `${what} ${index}: ${JSON.stringify(value)}`, type, value }));
    };
    await assertHold([
      {
        what: 'an embedding',
        type: 'OpenAI.CreateEmbeddingResponse',
        value: await post('/v1/embeddings', { model: 'sim-text', input: 'Hi', encoding_format: 'float' }),
      },
      {
        what: 'an image',
        type: 'OpenAI.ImagesResponse',
        value: await post('/v1/images/generations', { model: 'sim-images', prompt: 'A cat.' }),
      },
      { what: 'a completion', type: CHAT_COMPLETION, value: await post('/v1/chat/completions', chat) },
      {
        what: 'a response',
        type: "Pick<OpenAI.Responses.Response, 'created_at' | 'id' | 'model' | 'object' | 'output' | 'status'>",
        value: await post('/v1/responses', responses),
      },
      ...each('a chunk', CHAT_CHUNK, await streamed('/v1/chat/completions', chat)),
    ]);
  });

  test('if it relays the provider of these tests, event by event', async () => {
    gateway.provider.respond = sse(responsesStream({ words: ['Hello'], response: { usage: usageOf(1, 2) } }));
    const events = await streamed('/v1/responses', { model: 'test-responses', input: 'Hi' });
    assert.equal(events.length, 9);
    gateway.provider.respond = sse([
      imageEvent('image_generation', 'partial_image', { partial_image_index: 0 }),
      imageEvent('image_generation', 'completed', { usage: imageUsage({ text: 1, image: 2 }, 3) }),
    ]);
    const images = await streamed('/v1/images/generations', { model: 'test-images', prompt: 'A cat.' });
    assert.equal(images.length, 2);
    await assertHold([
      ...events.map((value, index) => ({ what: `event ${index}`, type: RESPONSE_EVENT, value })),
      ...images.map((value, index) => ({ what: `image ${index}`, type: 'OpenAI.ImageGenStreamEvent', value })),
    ]);
  });
});

/** `output_text` is added by the SDK; `access_programs` is newer than the simulator of these tests; usage is null before the end. */
const RESPONSE = "Omit<OpenAI.Responses.Response, 'access_programs' | 'output_text' | 'usage'>";
const RESPONSE_EVENT = [
  'Exclude<OpenAI.Responses.ResponseStreamEvent, { response: unknown }>',
  `{ type: 'response.created' | 'response.in_progress'; sequence_number: number; response: ${RESPONSE} & { usage: null } }`,
  `{ type: 'response.completed'; sequence_number: number; response: ${RESPONSE} & { usage: OpenAI.Responses.ResponseUsage } }`,
].join(' | ');
const CHAT_COMPLETION = 'OpenAI.ChatCompletion';
const CHAT_CHUNK = 'OpenAI.ChatCompletionChunk';
