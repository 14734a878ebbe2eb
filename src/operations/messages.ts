import type { CallInput, JsonOperation } from '../call/operation.ts';
import { messagesAnswer } from '../protocols/messages/answer.ts';
import { readMessagesStream } from '../protocols/messages/stream.ts';
import { BodyFields } from './fields.ts';
import { jsonInput } from './json-input.ts';

/** Messages creation (contract 4.1; wire facts 5). Usage comes by itself, in whole answers and in streams. */
export const messages: JsonOperation = {
  name: 'messages',
  protocol: 'messages',
  upstreamPath: '/v1/messages',
  streamErrorForm: 'messages',
  inspect(body): CallInput {
    const fields = BodyFields.read(body);
    const model = fields.requiredText('model');
    fields.requireArray('messages');
    return jsonInput(fields, {
      model,
      isStream: fields.optionalBoolean('stream') ?? false,
      outputTokensRequested: fields.optionalWhole('max_tokens', 0),
      answer: messagesAnswer,
      readStream: readMessagesStream,
    });
  },
};
