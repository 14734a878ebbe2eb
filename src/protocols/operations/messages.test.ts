import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { captureResponse } from '../../../test/support/captured.ts';
import { readInput, refusalsOf } from '../../../test/support/request-input.ts';
import { messages } from './messages.ts';

const inspect = (text: string) => readInput(messages, text);
const assertRefused = refusalsOf(messages);

describe('messages', () => {
  for (const [members, param] of [
    ['"messages":[]', 'model'],
    ['"model":null,"messages":[]', 'model'],
    ['"model":[],"messages":[]', 'model'],
    ['"model":"m"', 'messages'],
    ['"model":"m","messages":{}', 'messages'],
    ['"model":"m","messages":[],"stream":"yes"', 'stream'],
    ['"model":"m","messages":[],"max_tokens":-1', 'max_tokens'],
    ['"model":"m","messages":[],"max_tokens":0.5', 'max_tokens'],
  ] as const) {
    it(`blames ${param} in {${members}}`, () => {
      assertRefused(`{${members}}`, param);
    });
  }

  it('treats null as absent', () => {
    const input = inspect('{"model":"m","messages":[],"stream":null,"max_tokens":null}');
    assert.equal(input.isStream, false);
    assert.equal(input.demand.outputTokensLimit, null);
  });

  it('requests one choice of at most max_tokens', () => {
    const input = inspect('{"model":"m","messages":[],"max_tokens":64,"n":5}');
    assert.equal(input.choices, 1);
    assert.equal(input.demand.outputTokensLimit, 64);
    assert.equal(inspect('{"model":"m","messages":[],"max_tokens":0}').demand.outputTokensLimit, null);
  });

  it('reads non-streaming responses and streams', () => {
    const input = inspect('{"model":"m","messages":[]}');
    const { response } = input;
    const body = '{"usage":{"input_tokens":3,"output_tokens":4}}';
    assert.equal(response.usage(captureResponse(response, body), 'tokens')?.inputTokens, 3);
    assert.equal(input.readStream('tokens').read(Buffer.from('data: {"type":"message_stop"}\n\n')), 'done');
  });
});
