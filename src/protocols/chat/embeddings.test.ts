import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { captureResponse } from '../../../test/support/captured.ts';
import { noUsage } from '../metering/usage-facts.ts';
import { embeddingsResponse } from './embeddings.ts';

const responseOf = (members: object) => captureResponse(embeddingsResponse, JSON.stringify(members));

const inputTokens = (members: object) => embeddingsResponse.usage(responseOf(members), 'tokens')?.inputTokens ?? null;

describe('an embeddings response', () => {
  it('keeps none of the embeddings', () => {
    assert.ok(!embeddingsResponse.keep.includes('data'));
    assert.ok(!embeddingsResponse.keep.includes('embeddings'));
  });

  it('has input tokens and no output tokens', () => {
    const usage = embeddingsResponse.usage(responseOf({ usage: { prompt_tokens: 9, total_tokens: 9 } }), 'tokens');
    assert.deepEqual(usage, { ...noUsage, inputTokens: 9 });
  });

  for (const [members, expected] of [
    [{ usage: { prompt_tokens: 9, total_tokens: 10 } }, 9],
    [{ usage: { total_tokens: 10 } }, 10],
    [{ usage: { prompt_tokens: null, total_tokens: 10 } }, 10],
    [{ usage: { prompt_tokens: 0 } }, 0],
    [{ usage: { input_tokens: 8 } }, 8],
    [{ meta: { billed_units: { input_tokens: 11 }, tokens: { input_tokens: 12 } } }, 11],
    [{ usage: {}, meta: { tokens: { input_tokens: 12 } } }, 12],
    [{ tokens: { input_tokens: 13, output_tokens: 1 } }, 13],
  ] as const) {
    it(`counts ${expected} in ${JSON.stringify(members)}`, () => {
      assert.equal(inputTokens(members), expected);
    });
  }

  for (const [members, holds] of [
    [{ data: [{ embedding: [0.5] }] }, true],
    [{ embeddings: [[0.5]] }, true],
    [{ embeddings: { float: [[0.5]] } }, true],
    [{ embeddings: { float: [[0.5]], int8: [] }, data: [] }, true],
    [{ data: [], embeddings: {} }, false],
    [{ data: [], embeddings: null }, false],
    [{ results: [{ embeddings: [0.5] }] }, false],
  ] as const) {
    it(`${holds ? 'contains' : 'lacks'} embeddings: ${JSON.stringify(members)}`, () => {
      assert.equal(embeddingsResponse.hasResults!(responseOf(members)), holds);
    });
  }

  for (const members of [
    {},
    { usage: null },
    { usage: 9 },
    { usage: { prompt_tokens: 'nine' } },
    { usage: { prompt_tokens: -9, total_tokens: 9 } },
    { usage: { completion_tokens: 9 } },
    { meta: { billed_units: { search_units: 9 } } },
    { tokens: 9 },
  ]) {
    it(`fails closed on ${JSON.stringify(members)}`, () => {
      assert.equal(embeddingsResponse.usage(responseOf(members), 'tokens'), null);
    });
  }
});
