import type { CallInput, JsonOperation } from '../call/operation.ts';
import { embeddingsAnswer } from '../protocols/chat/embeddings.ts';
import { BodyFields } from './fields.ts';
import { jsonInput } from './json-input.ts';

/** Embeddings (contract 4.2; wire facts 4.1): text, tokens, or lists of either; everything else is the provider's business. */
export const embeddings: JsonOperation = {
  name: 'embeddings',
  protocol: 'chat',
  upstreamPath: '/embeddings',
  streamErrorForm: 'chat',
  inspect(body): CallInput {
    const fields = BodyFields.read(body);
    const model = fields.requiredText('model');
    fields.requireKind('input', ['string', 'array']);
    return jsonInput(fields, { model, outputTokensRequested: 0, answer: embeddingsAnswer });
  },
};
