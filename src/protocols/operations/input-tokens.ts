import { invalidRequest } from '../../errors/gateway-error.ts';
import { checkEstimateInput, checkEstimateTools } from '../responses/input.ts';
import type { Estimate } from './estimate.ts';

/** What lies outside the request, and so cannot be counted here (contract 4.4). */
const REMOTE_FIELDS = ['conversation', 'previous_response_id', 'prompt'];

/** Input tokens of a responses request (contract 4.4). */
export const inputTokens: Estimate = {
  name: 'responses.input_tokens',
  kind: 'responses',
  requiresModel: true,
  inspect(fields) {
    const model = fields.requiredText('model');
    for (const name of REMOTE_FIELDS) {
      if (!fields.has(name)) continue;
      throw invalidRequest(`The field "${name}" refers to what is stored elsewhere, which is not counted here.`, name);
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
