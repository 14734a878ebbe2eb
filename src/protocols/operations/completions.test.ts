import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readInput, refusalsOf } from '../../../test/support/request-input.ts';
import { completions } from './completions.ts';

const inspect = (text: string) => readInput(completions, text);
const assertRefused = refusalsOf(completions);

describe('completions', () => {
  it('require a model, and a prompt of an accepted type if there is one', () => {
    assertRefused('{"prompt":"x"}', 'model');
    for (const prompt of ['7', 'true', '{}']) assertRefused(`{"model":"m","prompt":${prompt}}`, 'prompt');
    for (const prompt of ['null', '""', '"x"', '["x"]', '[1]', '[[1]]']) {
      assert.doesNotThrow(() => inspect(`{"model":"m","prompt":${prompt}}`));
    }
    for (const name of ['n', 'best_of', 'max_tokens']) assertRefused(`{"model":"m","prompt":"x","${name}":"7"}`, name);
  });

  it('reserve all outputs that the provider bills: each prompt times the greater of n and best_of', () => {
    const { choices, demand } = inspect('{"model":"m","prompt":["a","b",[1,2]],"n":2,"best_of":5,"max_tokens":7}');
    assert.deepEqual([choices, demand.inputs, demand.outputTokensLimit], [15, 3, 7]);
    assert.equal(inspect('{"model":"m","prompt":[1,2,3]}').choices, 1);
  });

  it('count tokens that are given as numbers one by one', () => {
    const numbers = Array.from({ length: 500 }, () => 7).join();
    assert.equal(inspect(`{"model":"m","prompt":[${numbers}]}`).inputTokensEstimate, 500);
  });

  it('ask for the usage of a stream, and change nothing else', () => {
    const body = '{"model":"m","prompt":"a","suffix":"b","stream":true}';
    const sent = inspect(body).toProvider('other').toString();
    assert.equal(
      sent,
      '{"model":"other","prompt":"a","suffix":"b","stream":true,"stream_options":{"include_usage":true}}',
    );
  });

  it('with echo, estimate no output by the size of a text that repeats the prompt', () => {
    const plain = inspect('{"model":"m","prompt":"a"}');
    const echoed = inspect('{"model":"m","prompt":"a","echo":true}');
    assert.ok(plain.response.estimate !== undefined && plain.readStream('tokens').written !== null);
    assert.ok(echoed.response.estimate === undefined && echoed.readStream('tokens').written === null);
  });
});
