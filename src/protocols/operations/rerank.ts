import { chatStreamError } from '../chat/errors.ts';
import { chatProtocol } from '../chat/protocol.ts';
import { rerankResponse } from '../chat/rerank.ts';
import { byCall, bySearchUnits, byTokens } from '../metering/charge-options.ts';
import type { BodyFields } from './fields.ts';
import { jsonOperation } from './json-operation.ts';
import { rerankDemand } from './rerank-demand.ts';

/** Rerank (contract 4.2). There is no standard for it, so only fields that all vendors share are checked. */
export const rerank = jsonOperation({
  name: 'rerank',
  protocol: chatProtocol,
  upstreamPath: '/rerank',
  streamError: chatStreamError,
  charge: [byTokens(['input']), byCall, bySearchUnits],
  catalogEntry: null,
  countedAs: null,
  isAlwaysAwaited: false,
  reading: 'scans',
  readRequest(fields) {
    const model = fields.requiredText('model');
    fields.requireKind('query', ['string', 'object']);
    fields.requireKind('documents', ['array']);
    const { inputTokens, ...demand } = readSearch(fields);
    return {
      model,
      inputTokensEstimate: inputTokens,
      demand: { ...demand, outputTokensLimit: 0, thinkingTokens: 0, moreOutputTokens: 0 },
      details: null,
    };
  },
  response: () => rerankResponse,
});

function readSearch(fields: BodyFields) {
  const query = fields.member('query')!;
  const reader = fields.reader(fields.member('documents')!.valueStart);
  const documentBytes: number[] = [];
  for (reader.enter(); reader.nextItem(); ) {
    const { offset } = reader;
    reader.skip();
    documentBytes.push(reader.offset - offset);
  }
  return rerankDemand({
    queryBytes: query.valueEnd - query.valueStart,
    documentBytes,
    documentTokensMax: fields.lenientWhole('max_tokens_per_doc'),
    chunksMax: fields.lenientWhole('max_chunks_per_doc'),
  });
}
