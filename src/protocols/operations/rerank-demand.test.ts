import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rerankDemand, type Search } from './rerank-demand.ts';

const searchOf = (queryBytes: number, documents: readonly number[], more: Partial<Search> = {}): Search => ({
  queryBytes,
  documentBytes: documents,
  documentTokensMax: null,
  chunksMax: null,
  ...more,
});

describe('the estimated cost of reranking', () => {
  /** Cost of a short query with a hundred documents of a given size. */
  const demandOf = (documentBytes: number, more: Partial<Search> = {}) =>
    rerankDemand(searchOf(40, Array(100).fill(documentBytes), more));

  it('includes the query once per document', () => {
    const documents = Array(1_000).fill(40);
    assert.equal(rerankDemand(searchOf(20_480, documents)).inputTokens, 1_000 * (5_120 + 10 + 4));
  });

  it('includes a unit per hundred documents, rounded up', () => {
    const unitsOf = (count: number) => rerankDemand(searchOf(40, Array(count).fill(40))).searchUnits;
    assert.deepEqual([0, 1, 100, 101, 1_000].map(unitsOf), [1, 1, 1, 2, 10]);
  });

  it('counts a long document as several', () => {
    // 490 tokens of a chunk are left after the query.
    assert.equal(demandOf(4 * 490).searchUnits, 1);
    assert.equal(demandOf(4 * 491).searchUnits, 2);
    const cut = demandOf(4_000_000, { documentTokensMax: 980 });
    assert.equal(cut.searchUnits, 2);
  });

  it('includes the query once per chunk if documents may be split', () => {
    const { inputTokens, inputs } = rerankDemand(searchOf(40, [40_000], { chunksMax: 3 }));
    assert.deepEqual({ inputTokens, inputs }, { inputTokens: 3 * 10 + 10_000 + 3 * 4, inputs: 3 });
    assert.equal(rerankDemand(searchOf(40, [40_000, 4])).inputs, 2);
  });

  it('covers text with a token in every byte', () => {
    const { searchUnits, searchUnitsMax } = demandOf(1_900);
    assert.deepEqual([searchUnits, searchUnitsMax], [1, 5]);
  });
});
