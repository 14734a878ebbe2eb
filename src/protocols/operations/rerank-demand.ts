import { estimateTokens } from '../metering/estimate.ts';
import type { Demand } from './operation.ts';

/** What a rerank request states, as far as vendors charge for it. */
export interface Search {
  readonly queryBytes: number;
  readonly documentBytes: readonly number[];
  /** What is read of a document, in tokens; `null` if the request does not say. */
  readonly documentTokensMax: number | null;
  /** Into how many chunks a document may be cut; `null` if the request does not say. */
  readonly chunksMax: number | null;
}

/**
 * What a ranking may cost. Models read the query with every document, and all vendors that charge by tokens count it so.
 * A vendor that charges by units counts one for every hundred documents, and cuts documents that have more than 500 tokens
 * together with the query into several.
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
    // No text has more tokens than bytes.
    chunksMax += chunksOf(bytes, search.queryBytes);
    // A vendor that charges by tokens cuts documents only if the request asks for it: each part is read with the
    // query.
    readings += search.chunksMax === null ? 1 : Math.max(1, Math.min(own, search.chunksMax));
  }
  return {
    inputTokens: queryTokens * Math.max(readings, 1) + documentTokens + readings * PAIR_TOKENS,
    inputs: Math.max(readings, 1),
    searchUnits: unitsOf(chunks),
    searchUnitsMax: unitsOf(chunksMax),
  };
}

/** Tokens that mark query and document. */
const PAIR_TOKENS = 4;
const UNIT_DOCUMENTS = 100;
const CHUNK_TOKENS = 500;
/** The least part of a chunk that is document, however long the query is. */
const CHUNK_DOCUMENT_TOKENS_MIN = 250;

function chunksOf(documentTokens: number, queryTokens: number): number {
  const perChunk = Math.max(CHUNK_TOKENS - queryTokens, CHUNK_DOCUMENT_TOKENS_MIN);
  return Math.max(1, Math.ceil(documentTokens / perChunk));
}

function unitsOf(documents: number): number {
  return Math.max(1, Math.ceil(documents / UNIT_DOCUMENTS));
}
