import { rerankAnswer } from '../protocols/chat/rerank.ts';
import { jsonOperation } from './json-operation.ts';

/** Rerank (contract 4.2; wire facts 4.2). There is no standard; the fields that all vendors share are checked. */
export const rerank = jsonOperation({
  name: 'rerank',
  protocol: 'chat',
  upstreamPath: '/rerank',
  streamErrorForm: 'chat',
  readRequest(fields) {
    const model = fields.requiredText('model');
    fields.requireKind('query', ['string', 'object']);
    fields.requireArray('documents');
    return { model, outputTokensRequested: 0, details: null };
  },
  answer: () => rerankAnswer,
});
