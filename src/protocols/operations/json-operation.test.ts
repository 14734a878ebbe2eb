import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readInput } from '../../../test/support/request-input.ts';
import { chatStreamError } from '../chat/errors.ts';
import { chatProtocol } from '../chat/protocol.ts';
import { readMessagesStream } from '../messages/stream.ts';
import { byTokens } from '../metering/charge-options.ts';
import { responseReading } from '../metering/response.ts';
import { type JsonOperationParts, jsonOperation, type ReadRequest } from './json-operation.ts';
import { plainDemand } from './operation.ts';

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
  it('is one whole response that continues nothing, unless the operation says otherwise', () => {
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

  it('is what the operation says', () => {
    const given = { model: null, continuationKeys: ['k'], isStream: true, choices: 3 };
    const { model, continuationKeys, isStream, choices } = inputOf('{}', given);
    assert.deepEqual({ model, continuationKeys, isStream, choices }, given);
    assert.equal(inputOf('{}').response, response);
  });

  it('is estimated by the size of the whole body, four bytes a token', () => {
    assert.equal(inputOf('{}').inputTokensEstimate, 1);
    assert.equal(inputOf(`{"x":"${'é'.repeat(500)}"}`).inputTokensEstimate, 252);
  });

  it('reaches the provider with its own name of the model, in the place of the other', () => {
    assert.equal(sent('{ "a":1.0, "model" : "m" }', 'theirs "1"'), '{ "a":1.0, "model" : "theirs \\"1\\"" }');
    assert.equal(sent('{"model":"m"}', 'm'), '{"model":"m"}');
  });

  it('gets the model put in if its caller left it out, null included', () => {
    assert.equal(sent('{"a":1}', 'theirs', { model: null }), '{"model":"theirs","a":1}');
    assert.equal(sent('{ }', 'theirs', { model: null }), '{"model":"theirs" }');
    assert.equal(sent('{"model":null}', 'theirs', { model: null }), '{"model":"theirs"}');
    assert.equal(sent('{"a":1}', 'm', { model: 'm' }), '{"model":"m","a":1}');
  });

  it('has whatever else must differ spliced in, wherever that stands', () => {
    const splices = [
      { start: 13, end: 13, text: ',"b":2' },
      { start: 0, end: 0, text: ' ' },
    ];
    assert.equal(sent('{"model":"m" }', 'mm', { splices }), ' {"model":"mm" ,"b":2}');
    assert.equal(sent('{"model":"m" }', 'm', { splices }), ' {"model":"m" ,"b":2}');
  });

  it('can be asked for more than once, as when another route is tried', () => {
    const input = inputOf('{"model":"m"}');
    assert.equal(input.toProvider('one').toString(), '{"model":"one"}');
    assert.equal(input.toProvider('another').toString(), '{"model":"another"}');
  });

  it('is checked against the model if the operation has something to check', () => {
    assert.doesNotThrow(() => inputOf('{}').checkFor('any'));
    const checked: unknown[] = [];
    const checkFor = (details: Details, modelId: string) => checked.push([details, modelId]);
    inputOf('{}', { details: 'd' }, { checkFor }).checkFor('canonical');
    assert.deepEqual(checked, [['d', 'canonical']]);
  });

  it('has its stream read as the operation says, by what the call is charged for', () => {
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
    assert.equal(input.readStream('images').read(Buffer.from('data: {"type":"message_stop"}\n\n')), 'terminal');
    assert.deepEqual(read, [['d', 'images']]);
    assert.throws(() => inputOf('{}').readStream('tokens'), /has no streams/);
  });
});
