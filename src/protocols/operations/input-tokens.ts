import { invalidRequest } from '../../errors/gateway-error.ts';
import { checkEstimateInput, checkEstimateTools } from '../responses/input.ts';
import type { Estimate } from './estimate.ts';

/** Fields that refer to stored data. Its tokens cannot be counted (contract 4.4). */
const REMOTE_FIELDS = ['conversation', 'previous_response_id', 'prompt'];

export const inputTokens: Estimate = {
  name: 'responses.input_tokens',
  kind: 'responses',
  requiresModel: true,
  inspect(fields) {
    const model = fields.requiredText('model');
    for (const name of REMOTE_FIELDS) {
      if (!fields.has(name)) continue;
      throw invalidRequest(`The field "${name}" refers to stored data, whose tokens cannot be counted.`, name);
    }
    checkEstimateInput(fields.wholeValue('input'));
    fields.optionalKind('instructions', ['string']);
    fields.optionalObject('reasoning');
    fields.optionalObject('text');
    checkEstimateTools(fields.wholeValue('tools'));
    return model;
  },
  toResponse: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
};
