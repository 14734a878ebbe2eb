import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readInput, refusalsOf } from '../../../test/support/request-input.ts';
import { embeddingsResponse } from '../chat/embeddings.ts';
import { embeddings } from './embeddings.ts';

const inspect = (text: string) => readInput(embeddings, text);
const assertRefused = refusalsOf(embeddings);

describe('embeddings', () => {
  it('require a model and an input of an accepted type', () => {
    assertRefused('{"input":"x"}', 'model');
    assertRefused('{"model":"","input":"x"}', 'model');
    for (const input of ['null', '7', 'true', '{}']) assertRefused(`{"model":"m","input":${input}}`, 'input');
    assertRefused('{"model":"m"}', 'input');
    for (const input of ['""', '"x"', '[]', '[1]', '[[1]]', '[{}]']) {
      assert.doesNotThrow(() => inspect(`{"model":"m","input":${input}}`));
    }
  });

  it('are never streamed and have no output, whatever else is requested', () => {
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
