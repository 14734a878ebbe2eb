import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readInput, refusalsOf } from '../../../test/support/request-input.ts';
import { rerankResponse } from '../chat/rerank.ts';
import { rerank } from './rerank.ts';

const inspect = (text: string) => readInput(rerank, text);
const assertRefused = refusalsOf(rerank);

describe('rerank', () => {
  it('requires a model, a query and documents', () => {
    const fields = { model: '"m"', query: '"q"', documents: '[]' };
    const body = (rest: Partial<Record<keyof typeof fields, string | undefined>>) =>
      `{${Object.entries({ ...fields, ...rest })
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => `"${name}":${value}`)
        .join(',')}}`;
    for (const name of ['model', 'query', 'documents'] as const) {
      for (const value of [undefined, 'null', '7', 'false']) assertRefused(body({ [name]: value }), name);
    }
    assertRefused(body({ query: '["q"]' }), 'query');
    assertRefused(body({ documents: '"one"' }), 'documents');
    assertRefused(body({ documents: '{}' }), 'documents');
    for (const query of ['""', '{"text":"q"}']) assert.doesNotThrow(() => inspect(body({ query })));
    for (const documents of ['["a"]', '[{"text":"a"},"b"]']) assert.doesNotThrow(() => inspect(body({ documents })));
  });

  it('is never streamed and has no output, whatever else is requested', () => {
    const { isStream, demand, choices, continuationKeys, response } = inspect(
      '{"model":"m","query":"q","documents":[],"stream":true,"n":5}',
    );
    assert.deepEqual(
      { isStream, output: demand.outputTokensLimit, choices, continuationKeys },
      { isStream: false, output: 0, choices: 1, continuationKeys: [] },
    );
    assert.equal(response, rerankResponse);
  });
});
