import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { captureResponse } from '../../../test/support/captured.ts';
import { type ChargeBasis, noUsage } from '../metering/usage-facts.ts';
import { rerankResponse } from './rerank.ts';

const responseOf = (members: object) => captureResponse(rerankResponse, JSON.stringify(members));
const usageOf = (members: object, basis: ChargeBasis) => rerankResponse.usage(responseOf(members), basis);
const results = [{ index: 0, relevance_score: 1 }];

describe('a rerank response', () => {
  it('keeps none of the results, which may contain whole documents', () => {
    assert.ok(!rerankResponse.keep.includes('results') && !rerankResponse.keep.includes('data'));
  });

  for (const [facts, inputTokens] of [
    [{ usage: { total_tokens: 9, prompt_tokens: 8 } }, 9],
    [{ usage: { prompt_tokens: 8 } }, 8],
    [{ meta: { billed_units: { total_tokens: 7, search_units: 1 } } }, 7],
    [{ meta: { tokens: { input_tokens: 5, output_tokens: 1 } } }, 6],
    [{ meta: { tokens: { input_tokens: 5 } } }, 5],
    [{ tokens: { input_tokens: 3, output_tokens: 1 } }, 4],
    [{ usage: { input_tokens: 4 } }, 4],
    [{ usage: { total_tokens: 0 } }, 0],
  ] as const) {
    it(`counts ${inputTokens} tokens in ${JSON.stringify(facts)}`, () => {
      assert.equal(usageOf({ results, ...facts }, 'tokens')?.inputTokens, inputTokens);
    });
  }

  it('reports tokens and search units if it has both, whatever the charge is based on', () => {
    const meta = { billed_units: { search_units: 3 }, tokens: { input_tokens: 5 } };
    for (const basis of ['tokens', 'searchUnits', 'calls'] as const) {
      assert.deepEqual(usageOf({ results, meta }, basis), { ...noUsage, inputTokens: 5, searchUnits: 3 });
    }
  });

  it('requires tokens if it is charged by tokens', () => {
    for (const facts of [
      {},
      { usage: null },
      { usage: { total_tokens: 'nine' } },
      { usage: { total_tokens: -1, prompt_tokens: 8 } },
      { meta: { tokens: { output_tokens: 5 } } },
      { meta: { tokens: { input_tokens: 5, output_tokens: 0.5 } } },
      { meta: { billed_units: { search_units: 1 } } },
    ]) {
      assert.equal(usageOf({ results, ...facts }, 'tokens'), null, JSON.stringify(facts));
    }
  });

  it('requires search units if it is charged by them', () => {
    for (const facts of [{}, { usage: { total_tokens: 9 } }, { meta: { billed_units: { search_units: 0.5 } } }]) {
      assert.equal(usageOf({ results, ...facts }, 'searchUnits'), null, JSON.stringify(facts));
    }
    assert.equal(usageOf({ results, meta: { billed_units: { search_units: 0 } } }, 'searchUnits')?.searchUnits, 0);
  });

  it('finds search units within usage too', () => {
    const units = (facts: object) => usageOf({ results, ...facts }, 'searchUnits')?.searchUnits;
    const usage = { search_units: 2, total_tokens: 150, cost: 0.004 };
    assert.deepEqual([units({ usage }), units({ usage, meta: { billed_units: { search_units: 3 } } })], [2, 3]);
  });

  it('requires only results if it is charged per call', () => {
    assert.deepEqual(usageOf({ results }, 'calls'), noUsage);
    assert.deepEqual(usageOf({ results: [] }, 'calls'), noUsage);
    assert.deepEqual(usageOf({ data: results }, 'calls'), noUsage);
  });

  it('requires a list of results, whatever the charge is based on', () => {
    const facts = { usage: { total_tokens: 9 }, meta: { billed_units: { search_units: 1 } } };
    for (const basis of ['tokens', 'searchUnits', 'calls'] as const) {
      for (const other of [{}, { results: null }, { results: {} }, { data: 'x' }]) {
        assert.equal(usageOf({ ...facts, ...other }, basis), null);
      }
    }
  });

  it('cannot be referred to by later calls', () => {
    assert.deepEqual(rerankResponse.continuationKeys(responseOf({ results })), []);
  });
});
