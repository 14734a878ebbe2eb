import type { CallInput, JsonOperation } from '../call/operation.ts';
import { rerankAnswer } from '../protocols/chat/rerank.ts';
import { BodyFields } from './fields.ts';
import { jsonInput } from './json-input.ts';

/** Rerank (contract 4.2; wire facts 4.2). There is no standard; the fields that all vendors share are checked. */
export const rerank: JsonOperation = {
  name: 'rerank',
  protocol: 'chat',
  upstreamPath: '/rerank',
  streamErrorForm: 'chat',
  inspect(body): CallInput {
    const fields = BodyFields.read(body);
    const model = fields.requiredText('model');
    fields.requireKind('query', ['string', 'object']);
    fields.requireArray('documents');
    return jsonInput(fields, { model, outputTokensRequested: 0, answer: rerankAnswer });
  },
};
