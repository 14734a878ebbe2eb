import type { CallInput, Operation } from '../call/operation.ts';
import { readMessagesStream } from '../protocols/messages/stream.ts';
import { readMessagesUsage } from '../protocols/messages/usage.ts';
import { BodyFields, modelSplice, splice } from './fields.ts';

/** Messages creation (contract 4.1; wire facts 5). Usage comes by itself, in whole answers and in streams. */
export const messages: Operation = {
  name: 'messages',
  protocol: 'messages',
  upstreamPath: '/v1/messages',
  inspect(body): CallInput {
    const fields = BodyFields.read(body);
    const model = fields.requiredText('model');
    fields.requireArray('messages');
    return {
      model,
      isStream: fields.optionalBoolean('stream') ?? false,
      choices: 1,
      outputTokensRequested: fields.optionalWhole('max_tokens', 0),
      toProvider: (providerModel) => splice(body, modelSplice(fields, model, providerModel)),
      readUsage: readMessagesUsage,
      readStream: readMessagesStream,
    };
  },
};
