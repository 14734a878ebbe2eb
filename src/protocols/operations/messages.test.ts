import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { captureResponse } from '../../../test/support/captured.ts';
import {
  keySpelling,
  memberOf,
  memberText,
  objectText,
  space,
  stringText,
  valueText,
} from '../../../test/support/json-text.ts';
import { readInput, refusalsOf } from '../../../test/support/request-input.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { messages } from './messages.ts';

const READ_KEYS = ['model', 'messages', 'stream', 'max_tokens'];

const inspect = (text: string) => readInput(messages, text);
const assertRefused = refusalsOf(messages);

describe('messages', () => {
  it('changes nothing of a body but the model, down to the last byte', () => {
    const model = memberOf(keySpelling('model'), fc.constantFrom('"m"', '"\\u006d"', '"模型"'));
    const others = fc.array(
      memberOf(
        stringText.filter(({ value }) => !READ_KEYS.includes(value)),
        valueText,
      ),
      { maxLength: 4 },
    );
    const list = memberOf(keySpelling('messages'), fc.constantFrom('[]', '[{"role":"user","content":"hé"}]'));
    const stream = memberOf(keySpelling('stream'), fc.constantFrom('true', 'false', 'null'));
    const providerModel = fc.oneof(fc.constant('m'), fc.string({ minLength: 1 }));
    fc.assert(
      fc.property(
        space,
        others,
        model,
        list,
        stream,
        others,
        providerModel,
        (around, before, named, listed, asked, after, name) => {
          const rest = [listed, asked, ...after];
          const body = `${around}${objectText([...before, named, ...rest])}${around}`;
          const value = JSON.parse(named.value) === name ? named.value : JSON.stringify(name);
          const sent = [...before.map(memberText), memberText({ ...named, value }), ...rest.map(memberText)].join(',');
          const input = inspect(body);
          assert.equal(input.toProvider(name).toString(), `${around}{${sent}}${around}`);
          assert.equal(input.isStream, asked.value === 'true');
        },
      ),
      { numRuns: propertyRuns(400) },
    );
  });

  it('refuses a second copy of every key that it reads, and names it', () => {
    const copies: Record<string, string> = { model: '"m"', messages: '[]', stream: 'true', max_tokens: '5' };
    for (const name of READ_KEYS) {
      const members = READ_KEYS.map((key) => `"${key}":${copies[key]}`);
      const escaped = `"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}":${copies[name]}`;
      assertRefused(`{${[...members, escaped].join(',')}}`, name);
    }
  });

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

  it('takes null for absent', () => {
    const input = inspect('{"model":"m","messages":[],"stream":null,"max_tokens":null}');
    assert.equal(input.isStream, false);
    assert.equal(input.demand.outputTokensLimit, null);
  });

  it('asks for one choice of at most max_tokens', () => {
    const input = inspect('{"model":"m","messages":[],"max_tokens":64,"n":5}');
    assert.equal(input.choices, 1);
    assert.equal(input.demand.outputTokensLimit, 64);
    assert.equal(inspect('{"model":"m","messages":[],"max_tokens":0}').demand.outputTokensLimit, null);
  });

  it('reads whole responses and streams as messages', () => {
    const { response, ...input } = inspect('{"model":"m","messages":[]}');
    const body = '{"usage":{"input_tokens":3,"output_tokens":4}}';
    assert.equal(response.usage(captureResponse(response, body), 'tokens')?.inputTokens, 3);
    assert.equal(input.readStream('tokens').read(Buffer.from('data: {"type":"message_stop"}\n\n')), 'terminal');
  });
});
