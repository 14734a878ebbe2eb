import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { keySpelling, memberOf, objectText, space, stringText, valueText } from '../../../test/support/json-text.ts';
import { readInput, refusalsOf } from '../../../test/support/request-input.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { chatStreamError } from '../chat/errors.ts';
import { chatProtocol } from '../chat/protocol.ts';
import { readMessagesStream } from '../messages/stream.ts';
import { byTokens } from '../metering/charge-options.ts';
import { responseReading } from '../metering/response.ts';
import { chat } from './chat.ts';
import { compact } from './compact.ts';
import { embeddings } from './embeddings.ts';
import { imageGeneration } from './image-generation.ts';
import { type JsonOperationParts, jsonOperation, type ReadRequest } from './json-operation.ts';
import { messages } from './messages.ts';
import { type JsonOperation, plainDemand } from './operation.ts';
import { rerank } from './rerank.ts';
import { responses } from './responses.ts';

const response = responseReading([], () => null);

type Details = string | null;

function operationWith(request: Partial<ReadRequest<Details>> = {}, parts: Partial<JsonOperationParts<Details>> = {}) {
  return jsonOperation<Details, string>({
    name: 'chat',
    protocol: chatProtocol,
    upstreamPath: '/chat/completions',
    streamError: chatStreamError,
    charge: [byTokens(['input'])],
    catalogEntry: null,
    countedAs: null,
    isAlwaysAwaited: false,
    reading: 'scans',
    readRequest: () => ({ model: 'm', details: null, ...request }),
    response: () => response,
    ...parts,
  });
}

function inputOf(body: string, ...parts: Parameters<typeof operationWith>) {
  return readInput(operationWith(...parts), body);
}

function sent(body: string, providerModel: string, ...parts: Parameters<typeof operationWith>): string {
  const bytes = inputOf(body, ...parts).toProvider(providerModel);
  assert.ok(Buffer.isBuffer(bytes));
  return bytes.toString();
}

describe('the input of a call with a JSON body', () => {
  it('is not streamed and continues nothing, unless the operation specifies otherwise', () => {
    const { model, continuationKeys, isStream, demand, choices, contentType } = inputOf('{"model":"m"}');
    assert.deepEqual(
      { model, continuationKeys, isStream, demand, choices, contentType },
      {
        model: 'm',
        continuationKeys: [],
        isStream: false,
        demand: plainDemand,
        choices: 1,
        contentType: 'application/json',
      },
    );
  });

  it('follows the operation', () => {
    const given = { model: null, continuationKeys: ['k'], isStream: true, choices: 3 };
    const { model, continuationKeys, isStream, choices } = inputOf('{}', given);
    assert.deepEqual({ model, continuationKeys, isStream, choices }, given);
    assert.equal(inputOf('{}').response, response);
  });

  it('is estimated by the size of the body, four bytes per token', () => {
    assert.equal(inputOf('{}').inputTokensEstimate, 1);
    assert.equal(inputOf(`{"x":"${'é'.repeat(500)}"}`).inputTokensEstimate, 252);
  });

  it("contains the provider's name of the model instead of the client's", () => {
    assert.equal(sent('{ "a":1.0, "model" : "m" }', 'theirs "1"'), '{ "a":1.0, "model" : "theirs \\"1\\"" }');
    assert.equal(sent('{"model":"m"}', 'm'), '{"model":"m"}');
  });

  it('gets the model inserted if the caller omitted it or sent null', () => {
    assert.equal(sent('{"a":1}', 'theirs', { model: null }), '{"model":"theirs","a":1}');
    assert.equal(sent('{ }', 'theirs', { model: null }), '{"model":"theirs" }');
    assert.equal(sent('{"model":null}', 'theirs', { model: null }), '{"model":"theirs"}');
    assert.equal(sent('{"a":1}', 'm', { model: 'm' }), '{"model":"m","a":1}');
  });

  it('has other changes spliced in, wherever they are', () => {
    const splices = [
      { start: 13, end: 13, text: ',"b":2' },
      { start: 0, end: 0, text: ' ' },
    ];
    assert.equal(sent('{"model":"m" }', 'mm', { splices }), ' {"model":"mm" ,"b":2}');
    assert.equal(sent('{"model":"m" }', 'm', { splices }), ' {"model":"m" ,"b":2}');
  });

  it('can be built repeatedly, for example for another route', () => {
    const input = inputOf('{"model":"m"}');
    assert.equal(input.toProvider('one').toString(), '{"model":"one"}');
    assert.equal(input.toProvider('another').toString(), '{"model":"another"}');
  });

  it('is validated against the model if the operation defines a check', () => {
    assert.doesNotThrow(() => inputOf('{}').checkFor('any'));
    const checked: unknown[] = [];
    const checkFor = (details: Details, modelId: string) => checked.push([details, modelId]);
    inputOf('{}', { details: 'd' }, { checkFor }).checkFor('canonical');
    assert.deepEqual(checked, [['d', 'canonical']]);
  });

  it('reads streams like the operation, by the basis of the charge', () => {
    const read: unknown[] = [];
    const input = inputOf(
      '{}',
      { details: 'd' },
      {
        readStream(details, basis) {
          read.push([details, basis]);
          return readMessagesStream();
        },
      },
    );
    assert.equal(input.readStream('images').read(Buffer.from('data: {"type":"message_stop"}\n\n')), 'done');
    assert.deepEqual(read, [['d', 'images']]);
    assert.throws(() => inputOf('{}').readStream('tokens'), /does not support streaming/);
  });
});

interface Bodies {
  readonly operation: JsonOperation;
  readonly hasStreams: boolean;
  /** Members of a body in addition to the model, each with possible values. */
  readonly members: Readonly<Record<string, readonly string[]>>;
  /** Other keys that are read and may be `null`. */
  readonly optional: readonly string[];
}

const bodies: readonly Bodies[] = [
  {
    operation: messages,
    hasStreams: true,
    members: { messages: ['[]', '[{"role":"user","content":"hé"}]'] },
    optional: ['stream', 'max_tokens'],
  },
  {
    operation: responses,
    hasStreams: true,
    members: { input: ['null', '""', '"h\\u00e9"', '[]', '[{"n":1.0}, 2]'] },
    optional: ['background', 'previous_response_id', 'stream', 'max_output_tokens'],
  },
  {
    operation: compact,
    hasStreams: false,
    members: { input: ['null', '"h\\u00e9"', '[]', '[{"x":1.0}, {}]'] },
    optional: [
      ...['instructions', 'previous_response_id', 'prompt_cache_key', 'prompt_cache_options'],
      ...['prompt_cache_retention', 'service_tier'],
    ],
  },
  {
    operation: embeddings,
    hasStreams: false,
    members: { input: ['"hé"', '""', '[]', '[[1,2.0]]', '["a", "b"]'] },
    optional: [],
  },
  {
    operation: rerank,
    hasStreams: false,
    members: { query: ['""', '"caf\\u00e9 é"'], documents: ['[]', '[ "a",{"text":1.0} ]'] },
    optional: [],
  },
  {
    operation: imageGeneration,
    hasStreams: true,
    members: { prompt: ['"p"', '" \\u8239\\n"'] },
    optional: [
      ...['background', 'moderation', 'n', 'output_compression', 'output_format', 'partial_images', 'quality'],
      ...['response_format', 'size', 'stream', 'style', 'user'],
    ],
  },
];

describe('every operation with a JSON body', () => {
  for (const { operation, hasStreams, members, optional } of bodies) {
    it(`changes only the model in a body of ${operation.name}, to the byte`, () => {
      const read = ['model', ...Object.keys(members), ...optional];
      const others = fc.array(
        memberOf(
          stringText.filter(({ value }) => !read.includes(value)),
          valueText,
        ),
        { maxLength: 4 },
      );
      const model = memberOf(keySpelling('model'), fc.constantFrom('"m"', '"\\u006d"', '"模型"'));
      const stream = memberOf(keySpelling('stream'), fc.constantFrom('true', 'false', 'null'));
      const known = Object.entries(members).map(([name, values]) =>
        memberOf(keySpelling(name), fc.constantFrom(...values)),
      );
      const providerModel = fc.oneof(fc.constant('m'), fc.string({ minLength: 1 }));
      fc.assert(
        fc.property(
          fc.tuple(model, stream, ...known),
          others,
          fc.nat(),
          space,
          providerModel,
          ([named, streamed, ...rest], unread, turn, around, name) => {
            const all = [named, streamed, ...rest, ...unread];
            const at = turn % all.length;
            const turned = [...all.slice(at), ...all.slice(0, at)];
            const value = JSON.parse(named.value) === name ? named.value : JSON.stringify(name);
            const sent = turned.map((member) => (member === named ? { ...named, value } : member));
            const input = readInput(operation, `${around}${objectText(turned)}${around}`);
            assert.equal(input.model, JSON.parse(named.value));
            assert.equal(input.toProvider(name).toString(), `${around}${objectText(sent)}${around}`);
            assert.equal(input.isStream, hasStreams && streamed.value === 'true');
          },
        ),
        { numRuns: propertyRuns(300) },
      );
    });
  }

  const chatBodies = {
    operation: chat,
    members: { messages: ['[]'], stream: ['true'] },
    optional: ['n', 'max_tokens', 'max_completion_tokens', 'stream_options'],
  };
  for (const { operation, members, optional } of [chatBodies, ...bodies]) {
    it(`refuses a duplicate of every key that ${operation.name} reads, with the key in the error`, () => {
      const values = { model: ['"m"'], ...members, ...Object.fromEntries(optional.map((name) => [name, ['null']])) };
      const body = Object.entries(values).map(([name, [value]]) => `"${name}":${value}`);
      for (const [name, [value]] of Object.entries(values)) {
        const escaped = `"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}"`;
        for (const spelling of [escaped, `"${name}"`]) {
          refusalsOf(operation)(`{${body},${spelling}:${value}}`, name);
        }
      }
    });
  }
});
