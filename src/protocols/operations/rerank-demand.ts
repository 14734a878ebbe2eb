import { estimateTokens } from '../metering/estimate.ts';
import type { Demand } from './operation.ts';

export interface Search {
  readonly queryBytes: number;
  readonly documentBytes: readonly number[];
  readonly documentTokensMax: number | null;
  readonly chunksMax: number | null;
}

/**
 * Estimates the cost of a rerank request. Vendors that charge by tokens count the query again for each document. Vendors that charge by
 * search units count one unit per 100 documents; a document counts as several if it has more than 500 tokens together with the query.
 */
export function rerankDemand(
  search: Search,
): { inputTokens: number } & Pick<Demand, 'inputs' | 'searchUnits' | 'searchUnitsMax'> {
  const queryTokens = estimateTokens(search.queryBytes);
  let chunks = 0;
  let chunksMax = 0;
  let documentTokens = 0;
  let readings = 0;
  for (const bytes of search.documentBytes) {
    const tokens = Math.min(estimateTokens(bytes), search.documentTokensMax ?? Number.MAX_SAFE_INTEGER);
    const own = chunksOf(tokens, queryTokens);
    documentTokens += tokens;
    chunks += own;
    // Bytes instead of tokens: a text never has more tokens than bytes.
    chunksMax += chunksOf(bytes, search.queryBytes);
    // Vendors that charge by tokens split documents only if asked. They then count the query again for each chunk.
    readings += search.chunksMax === null ? 1 : Math.max(1, Math.min(own, search.chunksMax));
  }
  return {
    inputTokens: queryTokens * Math.max(readings, 1) + documentTokens + readings * PAIR_TOKENS,
    inputs: Math.max(readings, 1),
    searchUnits: unitsOf(chunks),
    searchUnitsMax: unitsOf(chunksMax),
  };
}

const PAIR_TOKENS = 4;
const UNIT_DOCUMENTS = 100;
const CHUNK_TOKENS = 500;
/** Minimum tokens that each chunk has of the document, however long the query is. */
const CHUNK_DOCUMENT_TOKENS_MIN = 250;

function chunksOf(documentTokens: number, queryTokens: number): number {
  const perChunk = Math.max(CHUNK_TOKENS - queryTokens, CHUNK_DOCUMENT_TOKENS_MIN);
  return Math.max(1, Math.ceil(documentTokens / perChunk));
}

function unitsOf(documents: number): number {
  return Math.max(1, Math.ceil(documents / UNIT_DOCUMENTS));
}
