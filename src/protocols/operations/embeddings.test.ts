import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  keySpelling,
  memberOf,
  memberText,
  objectText,
  stringText,
  valueText,
} from '../../../test/support/json-text.ts';
import { readInput, refusalsOf } from '../../../test/support/request-input.ts';
import { propertyRuns } from '../../../test/support/scope.ts';
import { embeddingsResponse } from '../chat/embeddings.ts';
import { embeddings } from './embeddings.ts';

const inspect = (text: string) => readInput(embeddings, text);
const assertRefused = refusalsOf(embeddings);

describe('embeddings', () => {
  it('change nothing of a body but the model, down to the last byte', () => {
    const others = fc.array(
      memberOf(
        stringText.filter(({ value }) => !['model', 'input'].includes(value)),
        valueText,
      ),
      { maxLength: 4 },
    );
    const model = memberOf(keySpelling('model'), fc.constantFrom('"m"', '"\\u006d"'));
    const input = memberOf(keySpelling('input'), fc.constantFrom('"hé"', '""', '[]', '[[1,2.0]]', '["a", "b"]'));
    fc.assert(
      fc.property(others, model, input, others, (before, named, asked, after) => {
        const call = inspect(objectText([...before, named, asked, ...after]));
        const renamed = { ...named, value: '"theirs"' };
        const sent = [...before, renamed, asked, ...after].map(memberText).join(',');
        assert.equal(call.toProvider('theirs').toString(), `{${sent}}`);
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  it('need a model and an input of a kind that a provider could read', () => {
    assertRefused('{"input":"x"}', 'model');
    assertRefused('{"model":"","input":"x"}', 'model');
    for (const input of ['null', '7', 'true', '{}']) assertRefused(`{"model":"m","input":${input}}`, 'input');
    assertRefused('{"model":"m"}', 'input');
    assertRefused('{"model":"m","input":"x","input":"y"}', 'input');
    for (const input of ['""', '"x"', '[]', '[1]', '[[1]]', '[{}]']) {
      assert.doesNotThrow(() => inspect(`{"model":"m","input":${input}}`));
    }
  });

  it('never stream and have no output, whatever else is asked for', () => {
    const { isStream, demand, choices, continuationKeys, response } = inspect(
      '{"model":"m","input":"x","stream":true,"n":5,"max_tokens":7}',
    );
    assert.deepEqual(
      { isStream, output: demand.outputTokensLimit, choices, continuationKeys },
      { isStream: false, output: 0, choices: 1, continuationKeys: [] },
    );
    assert.equal(response, embeddingsResponse);
  });
});
