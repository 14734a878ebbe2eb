import type { CallInput, JsonOperation } from '../call/operation.ts';
import { invalidRequest } from '../errors/gateway-error.ts';
import { responsesAnswer } from '../protocols/responses/answer.ts';
import { readResponsesStream } from '../protocols/responses/stream.ts';
import { earlierWork } from './earlier-work.ts';
import { BodyFields } from './fields.ts';
import { jsonInput } from './json-input.ts';

/** Responses creation (design 5.4; wire facts 2). Usage comes by itself, in whole answers and in the terminal event. */
export const responses: JsonOperation = {
  name: 'responses',
  protocol: 'chat',
  upstreamPath: '/responses',
  streamErrorForm: 'typed',
  inspect(body): CallInput {
    const fields = BodyFields.read(body);
    const model = fields.requiredText('model');
    fields.optionalKind('input', ['string', 'array']);
    if (fields.optionalBoolean('background') === true) {
      throw invalidRequest(
        'The field "background" must not be true: the answer would have no usage to bill.',
        'background',
      );
    }
    return jsonInput(fields, {
      model,
      affinityKeys: earlierWork(fields),
      isStream: fields.optionalBoolean('stream') ?? false,
      outputTokensRequested: fields.optionalWhole('max_output_tokens', 0),
      answer: responsesAnswer,
      readStream: readResponsesStream,
    });
  },
};
