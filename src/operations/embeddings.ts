import { embeddingsAnswer } from '../protocols/chat/embeddings.ts';
import { jsonOperation } from './json-operation.ts';

/** Embeddings (contract 4.2; wire facts 4.1): text, tokens, or lists of either; everything else is the provider's business. */
export const embeddings = jsonOperation({
  name: 'embeddings',
  protocol: 'chat',
  upstreamPath: '/embeddings',
  streamErrorForm: 'chat',
  readRequest(fields) {
    const model = fields.requiredText('model');
    fields.requireKind('input', ['string', 'array']);
    return { model, outputTokensRequested: 0, details: null };
  },
  answer: () => embeddingsAnswer,
});
